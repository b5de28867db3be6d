package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.JsonLines;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.command.Watching;
import dev.zlayer.cli.print.LiveScreen;
import dev.zlayer.cli.print.StatsTable;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "stats",
    description = "Show processor, memory and traffic of running containers, refreshed in place.",
    footer = {
      "",
      "Example:  zlayer stats --no-stream shop    one reading of a deployment's containers",
      "With --json and streaming: one JSON array per line."
    })
public final class StatsCommand extends AnswerCommand {
  @Option(names = "--no-stream", description = "Only one reading.")
  private boolean once;

  @Parameters(
      paramLabel = "TARGET",
      arity = "0..*",
      description = "deployment[/service[/replica]], a name or an id (default: all that run).")
  private List<String> targets = List.of();

  public StatsCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    List<Target> wanted = targets.stream().map(Target::parse).toList();
    if (!wanted.isEmpty()) {
      List<Json> named = Containers.named(Containers.all(client), targets);
      assert !named.isEmpty();
    }
    if (once) {
      Json readings = Json.of(chosen(client.get("/stats"), wanted));
      show(readings, () -> StatsTable.of(readings.items()));
      return 0;
    }
    return stream(client, wanted);
  }

  private int stream(DaemonClient client, List<Target> wanted) throws InterruptedException {
    try (var screen = new LiveScreen(session.out());
        JsonLines lines = client.stream("/stats", Query.of("stream", true));
        var _ = session.screen().onSignal("INT", lines::close)) {
      for (Optional<Json> json = lines.next(); json.isPresent(); json = lines.next()) {
        List<Json> readings = chosen(json.get(), wanted);
        if (super.json) {
          print(JsonText.print(Json.of(readings)));
          session.out().flush();
        } else {
          Watching.draw(session, screen, StatsTable.of(readings).lines().toList());
        }
      }
    }
    return 0;
  }

  private static List<Json> chosen(Json answer, List<Target> wanted) {
    return items(answer, "containers").stream()
        .filter(
            reading ->
                wanted.isEmpty()
                    || wanted.stream().anyMatch(target -> Containers.matches(reading, target)))
        .toList();
  }
}
