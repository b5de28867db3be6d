package dev.zlayer.daemon.metrics;

import dev.zlayer.container.ContainerStatus.Phase;
import dev.zlayer.container.Stats;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.proxy.tls.CertificateStatus;
import dev.zlayer.proxy.tls.Certificates;
import java.lang.management.ManagementFactory;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** How the agent stands at this moment. */
public final class AgentGauges implements Metrics.Gauges {
  private final ContainerRuntime runtime;
  private final JobExecutor jobs;
  private final Certificates certificates;

  public AgentGauges(ContainerRuntime runtime, JobExecutor jobs, Certificates certificates) {
    this.runtime = runtime;
    this.jobs = jobs;
    this.certificates = certificates;
  }

  @Override
  public List<Metrics.Gauge> read() {
    var gauges = new ArrayList<Metrics.Gauge>();
    var phases = new EnumMap<Phase, Integer>(Phase.class);
    for (Phase phase : Phase.values()) {
      phases.put(phase, 0);
    }
    runtime.list().forEach(container -> phases.merge(container.status().phase(), 1, Integer::sum));
    phases.remove(Phase.REMOVED);
    phases.forEach(
        (phase, count) ->
            gauges.add(
                new Metrics.Gauge(
                    "zlayer_containers",
                    "Containers by state.",
                    Map.of("state", phase.name().toLowerCase(Locale.ROOT)),
                    count)));
    gpus(gauges);
    certificates(gauges);
    gauges.add(gauge("zlayer_job_queue", "Executions that wait.", jobs.queue().size()));
    gauges.add(
        gauge("zlayer_jobs_active", "Executions that run or are being made.", jobs.active()));
    gauges.add(gauge("zlayer_images", "Images.", runtime.images().list().size()));
    Runtime java = Runtime.getRuntime();
    gauges.add(
        gauge("jvm_heap_used_bytes", "Heap in use.", java.totalMemory() - java.freeMemory()));
    gauges.add(gauge("jvm_heap_max_bytes", "Heap that may be used.", java.maxMemory()));
    gauges.add(
        gauge(
            "jvm_threads",
            "Platform threads.",
            ManagementFactory.getThreadMXBean().getThreadCount()));
    gauges.add(
        gauge(
            "process_uptime_seconds",
            "Time since the agent started.",
            ManagementFactory.getRuntimeMXBean().getUptime() / 1000.0));
    long collections = 0;
    double seconds = 0;
    for (var collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      collections += collector.getCollectionCount();
      seconds += collector.getCollectionTime() / 1000.0;
    }
    gauges.add(gauge("jvm_gc_collections", "Garbage collections so far.", collections));
    gauges.add(gauge("jvm_gc_seconds", "Time in garbage collections so far.", seconds));
    return gauges;
  }

  /** Of running containers that asked for a GPU. */
  private void gpus(List<Metrics.Gauge> gauges) {
    for (Container container : runtime.list()) {
      try {
        if (container.inspect().spec().gpu().isPresent() && container.status().alive()) {
          var labels = Map.of("container", container.id().runtimeName());
          Stats now = container.sample().now();
          now.gpu()
              .ifPresent(
                  gpu -> {
                    gauges.add(
                        new Metrics.Gauge(
                            "zlayer_container_gpu_memory_bytes",
                            "GPU memory of a container.",
                            labels,
                            gpu.memoryBytes()));
                    gpu.percent()
                        .ifPresent(
                            percent ->
                                gauges.add(
                                    new Metrics.Gauge(
                                        "zlayer_container_gpu_percent",
                                        "Share of the time of one GPU.",
                                        labels,
                                        percent)));
                  });
        }
      } catch (AgentException _) {
        // it has ended meanwhile, or its runtime does not answer
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  /** 0 when a host has none. */
  private void certificates(List<Metrics.Gauge> gauges) {
    for (CertificateStatus one : certificates.status()) {
      gauges.add(
          new Metrics.Gauge(
              "zlayer_certificate_expiry_timestamp_seconds",
              "When the certificate of a host expires.",
              Map.of("host", one.host()),
              one.notAfter().map(Instant::getEpochSecond).orElse(0L)));
    }
  }

  private static Metrics.Gauge gauge(String name, String help, long value) {
    return gauge(name, help, (double) value);
  }

  private static Metrics.Gauge gauge(String name, String help, double value) {
    return new Metrics.Gauge(name, help, Map.of(), value);
  }
}
