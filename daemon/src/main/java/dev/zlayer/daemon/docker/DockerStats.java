package dev.zlayer.daemon.docker;

import dev.zlayer.container.Stats;
import dev.zlayer.container.StatsSample;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a container uses, once or every second. */
final class DockerStats implements Resource {
  private static final Duration BEAT = Duration.ofSeconds(1);
  private static final Duration APART = Duration.ofMillis(100);
  private static final Duration RATE_LIMIT = Duration.ofSeconds(5);
  private static final long SECOND = 1_000_000_000;

  private final DockerContainerIndex index;
  private final Pauses pauses;
  private final int processors;

  DockerStats(DockerContainerIndex index, Pauses pauses, int processors) {
    this.index = index;
    this.pauses = pauses;
    this.processors = processors;
  }

  @Override
  public String title() {
    return "What containers use";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get("/containers/{name}/stats", "Show what a container uses.", this::stats));
  }

  private ApiResponse stats(ApiRequest call) {
    Container container = index.find(call.path("name"));
    boolean stream = DockerQuery.flag(call, "stream", true);
    boolean once = DockerQuery.flag(call, "one-shot");
    if (stream && once) {
      throw DockerError.badRequest("cannot have stream=true and one-shot=true");
    }
    String id = DockerContainerIndex.id(container);
    String name = "/" + ContainerNames.of(container);
    return new ApiResponse.Bytes(
        ApiRequest.JSON,
        Map.of(),
        out -> {
          if (stream) {
            stream(container, id, name, out);
          } else {
            write(out, json(id, name, once ? sample(container) : rated(container)));
          }
        });
  }

  private void stream(Container container, String id, String name, OutputStream out)
      throws IOException, InterruptedException {
    Optional<Stats> before = Optional.empty();
    while (true) {
      Optional<StatsSample> sample = sample(container);
      Optional<Stats> earlier = before;
      Optional<StatsSample> shown =
          sample.map(now -> earlier.isPresent() ? new StatsSample(now.now(), earlier) : now);
      boolean news =
          sample.isEmpty()
              || earlier.isEmpty()
              || sample.get().now().time().isAfter(earlier.get().time());
      if (news) {
        write(out, json(id, name, shown));
        before = sample.map(StatsSample::now);
      }
      if (container.status() instanceof dev.zlayer.container.ContainerStatus.Removed) {
        return;
      }
      pauses.pause(BEAT);
    }
  }

  private static void write(OutputStream out, Json json) throws IOException {
    out.write(JsonText.bytes(json));
    out.write('\n');
    out.flush();
  }

  /** Empty when it does not run: it uses nothing then. */
  private static Optional<StatsSample> sample(Container container) throws InterruptedException {
    try {
      return Optional.of(container.sample());
    } catch (AgentException.Conflict | AgentException.NotFound | AgentException.InvalidSpec _) {
      return Optional.empty();
    }
  }

  /** With an earlier reading, which is waited for where there is none. */
  private Optional<StatsSample> rated(Container container) throws InterruptedException {
    Optional<StatsSample> first = sample(container);
    Deadline deadline = Deadline.after(RATE_LIMIT);
    Optional<StatsSample> sample = first;
    while (sample.isPresent() && sample.get().before().isEmpty() && !deadline.passed()) {
      pauses.pause(APART);
      Stats earlier = first.orElseThrow().now();
      sample = sample(container);
      if (sample.isPresent() && sample.get().now().time().isAfter(earlier.time())) {
        return Optional.of(new StatsSample(sample.get().now(), Optional.of(earlier)));
      }
    }
    return sample;
  }

  private Json json(String id, String name, Optional<StatsSample> sample) {
    Optional<Stats> now = sample.map(StatsSample::now);
    Optional<Stats> before = sample.flatMap(StatsSample::before);
    return Json.object()
        .put("name", name)
        .put("id", id)
        .put("read", now.map(stats -> stats.time().toString()).orElse(ContainerFacts.NEVER))
        .put("preread", before.map(stats -> stats.time().toString()).orElse(ContainerFacts.NEVER))
        .put("pids_stats", now.map(DockerStats::pids).orElse(Json.object().build()))
        .put("blkio_stats", blocks(now))
        .put("num_procs", 0)
        .put("storage_stats", Map.of())
        .put("cpu_stats", processor(now))
        .put("precpu_stats", processor(before))
        .put("memory_stats", now.map(DockerStats::memory).orElse(Json.object().build()))
        .put("networks", now.map(stats -> Map.of("eth0", network(stats))).orElse(Map.of()))
        .build();
  }

  private static Json.Obj pids(Stats stats) {
    var json = Json.object().put("current", stats.pids());
    stats.pidsLimit().ifPresent(limit -> json.put("limit", limit));
    return json.build();
  }

  private static Json blocks(Optional<Stats> stats) {
    return Json.object()
        .put(
            "io_service_bytes_recursive",
            stats
                .map(
                    now ->
                        List.of(
                            block("read", now.blockReadBytes()),
                            block("write", now.blockWriteBytes())))
                .orElse(null))
        .put("io_serviced_recursive", null)
        .put("io_queue_recursive", null)
        .put("io_service_time_recursive", null)
        .put("io_wait_time_recursive", null)
        .put("io_merged_recursive", null)
        .put("io_time_recursive", null)
        .put("sectors_recursive", null)
        .build();
  }

  private static Json block(String op, long bytes) {
    return Json.object().put("major", 0).put("minor", 0).put("op", op).put("value", bytes).build();
  }

  /** The time of all processors passes as fast as the clock, once for each. */
  private Json processor(Optional<Stats> stats) {
    var json =
        Json.object()
            .put(
                "cpu_usage",
                Json.object()
                    .put("total_usage", stats.map(Stats::cpuNanos).orElse(0L))
                    .put("usage_in_kernelmode", 0)
                    .put("usage_in_usermode", stats.map(Stats::cpuNanos).orElse(0L))
                    .build());
    if (stats.isPresent()) {
      json.put("system_cpu_usage", nanos(stats.get().time()) * processors)
          .put("online_cpus", processors);
    }
    return json.put(
            "throttling_data",
            Json.object()
                .put("periods", 0)
                .put("throttled_periods", 0)
                .put("throttled_time", 0)
                .build())
        .build();
  }

  private static long nanos(Instant time) {
    return time.getEpochSecond() % (SECOND / 100) * SECOND + time.getNano();
  }

  /** What this host has. */
  private static long memory() {
    return ManagementFactory.getOperatingSystemMXBean()
            instanceof com.sun.management.OperatingSystemMXBean host
        ? host.getTotalMemorySize()
        : 0;
  }

  private static Json.Obj memory(Stats stats) {
    return Json.object()
        .put("usage", stats.memoryBytes())
        .put("stats", Map.of())
        .put("limit", stats.memoryLimitBytes().orElseGet(DockerStats::memory))
        .build();
  }

  private static Json network(Stats stats) {
    return Json.object()
        .put("rx_bytes", stats.networkReceivedBytes())
        .put("rx_packets", 0)
        .put("rx_errors", 0)
        .put("rx_dropped", 0)
        .put("tx_bytes", stats.networkSentBytes())
        .put("tx_packets", 0)
        .put("tx_errors", 0)
        .put("tx_dropped", 0)
        .build();
  }
}
