package dev.zlayer.daemon.rest;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Stats;
import dev.zlayer.container.StatsSample;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.Supplier;

/** What containers use. */
public final class StatsResource implements Resource {
  private static final Duration APART = Duration.ofMillis(100);
  private static final Duration TIMEOUT = Duration.ofMillis(1500);
  private static final Duration BEAT = Duration.ofSeconds(1);
  private static final String RATE =
      "Wait for a second sample where the load cannot be computed yet.";

  private final ContainerRuntime runtime;
  private final ContainerLookup references;
  private final Pauses pauses;

  /**
   * One reading.
   *
   * @param cpuPercent of one core since the reading before; absent when there was none
   * @param gpuPercent of the time of one GPU; absent where the driver does not count it by process
   * @param gpuMemoryBytes of all its processes; only of a container that has a GPU
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
      long networkSentBytes,
      OptionalDouble gpuPercent,
      OptionalLong gpuMemoryBytes) {
    static StatsView of(ContainerId id, StatsSample sample) {
      Stats now = sample.now();
      OptionalDouble percent = sample.cpuPercent();
      return new StatsView(
          id.runtimeName(),
          id.deployment().equals(ContainerId.STANDALONE) ? id.service() : id.toString(),
          now.time(),
          percent.isPresent()
              ? OptionalDouble.of(Math.round(100 * percent.getAsDouble()) / 100.0)
              : percent,
          now.cpuNanos(),
          now.memoryBytes(),
          now.memoryLimitBytes(),
          now.pids(),
          now.pidsLimit(),
          now.blockReadBytes(),
          now.blockWriteBytes(),
          now.networkReceivedBytes(),
          now.networkSentBytes(),
          now.gpu().map(Stats.Gpu::percent).orElse(OptionalDouble.empty()),
          now.gpu().map(gpu -> OptionalLong.of(gpu.memoryBytes())).orElse(OptionalLong.empty()));
    }
  }

  public StatsResource(ContainerRuntime runtime, Pauses pauses) {
    this.runtime = runtime;
    this.references = new ContainerLookup(runtime);
    this.pauses = pauses;
  }

  @Override
  public String title() {
    return "What containers use";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view(
                "/containers/{ref}/stats", "Show the resource usage of one container.", this::one)
            .withFlag("rate", RATE)
            .withFlag("stream", "One line per second.")
            .gives(StatsView.class)
            .streams(StatsView.class, "With stream."),
        Route.view(
                "/stats",
                "Show the resource usage of all running and prepared containers.",
                this::all)
            .with("deployment", "Only this deployment.")
            .withFlag("rate", RATE)
            .withFlag("stream", "One line per container every second.")
            .givesMany(StatsView.class)
            .streams(StatsView.class, "With stream."));
  }

  private ApiResponse one(ApiRequest call) throws InterruptedException {
    Container container = references.find(call);
    StatsSample first = container.sample();
    if (call.flag("stream", false)) {
      return stream(() -> List.of(container));
    }
    return call.flag("rate", false)
        ? new ApiResponse.Later(() -> one(container, rated(container, first)))
        : one(container, first);
  }

  private static ApiResponse one(Container container, StatsSample sample) {
    return ApiResponse.json(ViewJson.of(StatsView.of(container.id(), sample)));
  }

  private ApiResponse all(ApiRequest call) throws InterruptedException {
    Optional<String> deployment = call.query("deployment");
    Supplier<List<Container>> which =
        () ->
            runtime.list().stream()
                .filter(one -> deployment.map(one.id().deployment()::equals).orElse(true))
                .toList();
    if (call.flag("stream", false)) {
      return stream(which);
    }
    Map<Container, StatsSample> samples = samples(which.get());
    return call.flag("rate", false)
        ? new ApiResponse.Later(() -> all(rated(samples)))
        : all(samples);
  }

  private static ApiResponse all(Map<Container, StatsSample> samples) {
    return ViewText.answer(
        samples.entrySet().stream()
            .map(entry -> StatsView.of(entry.getKey().id(), entry.getValue()))
            .toList());
  }

  private Map<Container, StatsSample> rated(Map<Container, StatsSample> first)
      throws InterruptedException {
    var rated = new LinkedHashMap<Container, StatsSample>();
    for (var entry : first.entrySet()) {
      try {
        rated.put(entry.getKey(), rated(entry.getKey(), entry.getValue()));
      } catch (AgentException.Conflict | AgentException.InvalidSpec | AgentException.NotFound _) {
        // it has ended meanwhile
      }
    }
    return rated;
  }

  /** One that tells a rate: waits for a later reading where there is none before it. */
  private StatsSample rated(Container container, StatsSample first) throws InterruptedException {
    Deadline deadline = Deadline.after(TIMEOUT);
    StatsSample sample = first;
    while (sample.cpuPercent().isEmpty() && !deadline.passed()) {
      pauses.pause(APART);
      sample = since(Optional.of(first.now()), container.sample());
    }
    return sample;
  }

  private ApiResponse stream(Supplier<List<Container>> which) {
    return new ApiResponse.Lines(
        out -> {
          out.flush();
          Map<ContainerId, Stats> before = new HashMap<>();
          for (Map<Container, StatsSample> now = samples(which.get());
              !now.isEmpty();
              now = samples(which.get())) {
            write(now, before, out);
            pauses.pause(BEAT);
          }
        });
  }

  /** Only what is new, with the rate since the line before; {@code before} becomes what is now. */
  private static void write(
      Map<Container, StatsSample> now, Map<ContainerId, Stats> before, ApiResponse.Lined out)
      throws IOException {
    var told = new HashMap<ContainerId, Stats>();
    for (var entry : now.entrySet()) {
      ContainerId id = entry.getKey().id();
      Stats reading = entry.getValue().now();
      Optional<Stats> earlier = Optional.ofNullable(before.get(id));
      if (earlier.map(stats -> reading.time().isAfter(stats.time())).orElse(true)) {
        out.line(ViewJson.of(StatsView.of(id, since(earlier, entry.getValue()))));
      }
      told.put(id, reading);
    }
    before.clear();
    before.putAll(told);
  }

  /** Compared with a reading that we have, else with the one that the runtime has kept. */
  private static StatsSample since(Optional<Stats> earlier, StatsSample sample) {
    return earlier.isPresent() ? new StatsSample(sample.now(), earlier) : sample;
  }

  private static Map<Container, StatsSample> samples(List<Container> containers)
      throws InterruptedException {
    var samples = new LinkedHashMap<Container, StatsSample>();
    for (Container container : containers) {
      try {
        if (container.status().alive() || container.status() instanceof ContainerStatus.Prepared) {
          samples.put(container, container.sample());
        }
      } catch (AgentException.Conflict | AgentException.InvalidSpec | AgentException.NotFound _) {
        // it has ended meanwhile
      }
    }
    return samples;
  }
}
