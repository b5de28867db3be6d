package dev.zlayer.daemon.rest;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.Stats;
import dev.zlayer.daemon.http.Answer;
import dev.zlayer.daemon.http.Call;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.Supplier;

/** What containers use. */
public final class StatsResource implements Resource {
  private static final Duration APART = Duration.ofMillis(100);
  private static final Duration PATIENCE = Duration.ofMillis(1500);
  private static final Duration BEAT = Duration.ofSeconds(1);

  private final ContainerRuntime runtime;
  private final References references;
  private final Pauses pauses;

  /**
   * One reading.
   *
   * @param cpuPercent of one core since the reading before; absent in the first line of a stream
   */
  record StatsView(
      String id,
      String name,
      Instant time,
      OptionalDouble cpuPercent,
      long cpuNanos,
      long memoryBytes,
      OptionalLong memoryLimitBytes,
      long pids,
      OptionalLong pidsLimit,
      long blockReadBytes,
      long blockWriteBytes,
      long networkReceivedBytes,
      long networkSentBytes) {
    static StatsView of(ContainerId id, Optional<Stats> before, Stats now) {
      return new StatsView(
          id.runtimeName(),
          id.deployment().equals(ContainerId.STANDALONE) ? id.service() : id.toString(),
          now.time(),
          before.map(earlier -> rate(earlier, now)).orElse(OptionalDouble.empty()),
          now.cpuNanos(),
          now.memoryBytes(),
          now.memoryLimitBytes(),
          now.pids(),
          now.pidsLimit(),
          now.blockReadBytes(),
          now.blockWriteBytes(),
          now.networkReceivedBytes(),
          now.networkSentBytes());
    }

    private static OptionalDouble rate(Stats before, Stats now) {
      long passed = Duration.between(before.time(), now.time()).toNanos();
      return passed <= 0
          ? OptionalDouble.empty()
          : OptionalDouble.of(
              Math.round(10_000.0 * (now.cpuNanos() - before.cpuNanos()) / passed) / 100.0);
    }
  }

  public StatsResource(ContainerRuntime runtime, Pauses pauses) {
    this.runtime = runtime;
    this.references = new References(runtime);
    this.pauses = pauses;
  }

  @Override
  public String title() {
    return "What containers use";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get("/containers/{ref}/stats", "What one container uses.", this::one)
            .withFlag("stream", "A line each second.")
            .gives(StatsView.class)
            .streams(StatsView.class, "With stream."),
        Route.get("/stats", "What all running containers use.", this::all)
            .withFlag("stream", "All of them each second, one line each.")
            .givesMany(StatsView.class)
            .streams(StatsView.class, "With stream."));
  }

  private Answer one(Call call) throws InterruptedException {
    Container container = references.find(call.path("ref"));
    Stats first = container.stats();
    if (call.flag("stream", false)) {
      return stream(() -> List.of(container));
    }
    return new Answer.Later(
        () ->
            Answer.json(
                ViewJson.of(
                    StatsView.of(container.id(), Optional.of(first), next(container, first)))));
  }

  /** A reading with a later time than the given one, which tells a rate. */
  private Stats next(Container container, Stats first) throws InterruptedException {
    Deadline deadline = Deadline.after(PATIENCE);
    Stats now = container.stats();
    while (!now.time().isAfter(first.time()) && !deadline.passed()) {
      pauses.pause(APART);
      now = container.stats();
    }
    return now;
  }

  private Answer all(Call call) {
    if (call.flag("stream", false)) {
      return stream(runtime::list);
    }
    return new Answer.Later(
        () -> {
          var views = new ArrayList<StatsView>();
          Map<ContainerId, Stats> before = readings(runtime.list());
          for (Container container : runtime.list()) {
            Stats first = before.get(container.id());
            if (first != null) {
              try {
                views.add(StatsView.of(container.id(), Optional.of(first), next(container, first)));
              } catch (AgentException.InvalidSpec | AgentException.NotFound _) {
                // it has ended meanwhile
              }
            }
          }
          return Answer.json(ViewJson.of(views));
        });
  }

  private Answer stream(Supplier<List<Container>> which) {
    return new Answer.Lines(
        out -> {
          out.begin();
          Map<ContainerId, Stats> before = new HashMap<>();
          for (Map<ContainerId, Stats> now = readings(which.get());
              !now.isEmpty();
              now = readings(which.get())) {
            write(now, before, out);
            before.putAll(now);
            before.keySet().retainAll(now.keySet());
            pauses.pause(BEAT);
          }
        });
  }

  private static void write(
      Map<ContainerId, Stats> now, Map<ContainerId, Stats> before, Answer.Lined out)
      throws IOException {
    for (var reading : now.entrySet()) {
      Optional<Stats> earlier = Optional.ofNullable(before.get(reading.getKey()));
      boolean fresh =
          earlier.map(stats -> reading.getValue().time().isAfter(stats.time())).orElse(true);
      if (fresh) {
        out.line(ViewJson.of(StatsView.of(reading.getKey(), earlier, reading.getValue())));
      }
    }
  }

  private static Map<ContainerId, Stats> readings(List<Container> containers)
      throws InterruptedException {
    var readings = new HashMap<ContainerId, Stats>();
    for (Container container : containers) {
      try {
        if (container.status().alive()) {
          readings.put(container.id(), container.stats());
        }
      } catch (AgentException.InvalidSpec | AgentException.NotFound _) {
        // it has ended meanwhile
      }
    }
    return readings;
  }
}
