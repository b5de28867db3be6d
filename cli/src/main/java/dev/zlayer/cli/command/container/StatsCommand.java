package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.ConnectionLost;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.JsonLines;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.command.Watching;
import dev.zlayer.cli.print.LiveScreen;
import dev.zlayer.cli.print.StatsTable;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "stats",
    description =
        "Show CPU, memory, network and disk usage of running containers, refreshed in place",
    footer = {
      "",
      "Example:  zlayer stats --no-stream shop    one sample of a deployment's containers",
      "With --json and streaming, prints one JSON array per line."
    })
public final class StatsCommand extends AnswerCommand {
  @Option(names = "--no-stream", description = "Print one sample and exit")
  private boolean once;

  @Parameters(
      paramLabel = "TARGET",
      arity = "0..*",
      description = "Deployment, service, replica or container (default: all running containers)")
  private List<String> targets = List.of();

  public StatsCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Set<String> wanted = new HashSet<>();
    if (!targets.isEmpty()) {
      Containers.named(Containers.all(client), targets)
          .forEach(container -> wanted.add(key(container)));
    }
    if (once) {
      List<Json> readings =
          client.get("/stats", Query.of("rate", true)).items().stream()
              .filter(one -> isWanted(one, wanted))
              .toList();
      show(Json.of(readings), () -> StatsTable.of(readings));
      return 0;
    }
    return stream(client, wanted);
  }

  private static boolean isWanted(Json reading, Set<String> wanted) {
    return wanted.isEmpty() || wanted.contains(key(reading));
  }

  /** Nodes of a cluster may have containers of one name. */
  private static String key(Json container) {
    return container.at("node").string().map(node -> node + "/").orElse("")
        + Containers.id(container);
  }

  /** One line per container and second; a container that comes again begins the next frame. */
  private int stream(DaemonClient client, Set<String> wanted) throws InterruptedException {
    var enough = new AtomicBoolean();
    var missing = new MissingNodes(this::tell, "; what its containers use is missing here");
    try (var screen = new LiveScreen(session.out());
        JsonLines lines = client.stream("/stats", Query.of("stream", true));
        var _ = session.screen().onSignal("INT", () -> leave(enough, lines))) {
      Map<String, Json> frame = new LinkedHashMap<>();
      Map<String, Json> before = Map.of();
      for (Optional<Json> line = lines.next(); line.isPresent(); line = lines.next()) {
        if (!line.get().at("away").isNull()) {
          missing.report(line.get().at("away"));
          continue;
        }
        if (frame.containsKey(key(line.get()))) {
          draw(screen, together(before, frame));
          before = Map.copyOf(frame);
          frame.clear();
        }
        if (isWanted(line.get(), wanted)) {
          frame.put(key(line.get()), line.get());
        }
      }
    } catch (ConnectionLost e) {
      if (!enough.get()) {
        throw e;
      }
    }
    if (enough.get()) {
      Watching.afterInterrupt(session);
    }
    return 0;
  }

  /** Nodes of a cluster do not measure at the same moment: one that is a little late stays. */
  private static List<Json> together(Map<String, Json> before, Map<String, Json> now) {
    var all = new LinkedHashMap<>(now);
    before.forEach(
        (key, reading) -> {
          if (!reading.at("node").isNull()) {
            all.putIfAbsent(key, reading);
          }
        });
    return List.copyOf(all.values());
  }

  private static void leave(AtomicBoolean enough, JsonLines lines) {
    enough.set(true);
    lines.close();
  }

  private void draw(LiveScreen screen, List<Json> readings) {
    if (json) {
      print(JsonText.print(Json.of(readings)));
      session.out().flush();
    } else {
      Watching.draw(session, screen, StatsTable.of(readings).lines().toList());
    }
  }
}
