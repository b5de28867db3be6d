package dev.zlayer.runtime.oci.gpu;

import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.Stats;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Pauses;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The GPUs of this host and what containers have of them. Keeps the MPS daemon of the agent running
 * and time slices as asked for, on a thread that does nothing while no container has a GPU.
 */
public final class Gpus implements AutoCloseable {
  private static final System.Logger LOG = LazyLogger.of(Gpus.class);
  private static final String LOCK = "gpu";
  private static final Duration EVERY = Duration.ofSeconds(3);

  /** How long a round may take that is under way at the end. */
  private static final Duration END = Duration.ofSeconds(20);

  /** A reading this young is as good as a new one. */
  private static final Duration FRESH = Duration.ofSeconds(1);

  /**
   * What they are made of.
   *
   * @param cdiDirectories specs of vendors, later ones win
   * @param driverRoot below which the driver's files are
   * @param durable for what outlives the machine's restart
   * @param run for the MPS daemon
   * @param uses what the containers have now
   */
  public record Parts(
      List<Path> cdiDirectories,
      Path driverRoot,
      Path durable,
      Path run,
      KeyedLock<String> locks,
      Supplier<List<GpuUse>> uses,
      InstantSource clock,
      Pauses pauses) {}

  /**
   * One GPU, or one part of it.
   *
   * @param source who describes it: the {@code driver} itself or a spec of the {@code vendor}
   * @param percent of the time in which it computed
   */
  public record Listed(
      String name,
      String kind,
      Optional<String> model,
      Optional<String> uuid,
      Optional<String> bus,
      String source,
      OptionalLong memoryBytes,
      OptionalLong memoryUsedBytes,
      OptionalDouble percent,
      List<GpuUse> uses) {}

  private record Reading(Instant time, Map<Long, NvidiaSmi.ProcessUse> processes) {}

  private final Parts parts;
  private final GpuCatalog catalog;
  private final MpsControl mps;
  private final TimeSlices slices;
  private final GpuWiring wiring;
  private final Semaphore wake = new Semaphore(0);
  private final Thread thread;
  private volatile boolean closed;
  private Optional<Reading> reading = Optional.empty();

  private Gpus(Parts parts) {
    this.parts = parts;
    this.catalog =
        new GpuCatalog(
            new GpuCatalog.Places(parts.cdiDirectories(), parts.driverRoot()), parts.durable());
    this.mps = new MpsControl(parts.run(), catalog, parts.pauses());
    this.slices = new TimeSlices(parts.durable().resolve("time-slices.json"), catalog);
    this.wiring = new GpuWiring(catalog, mps, slices);
    this.thread = Thread.ofVirtual().name("gpus").unstarted(this::run);
  }

  public static Gpus open(Parts parts) {
    var gpus = new Gpus(parts);
    gpus.thread.start();
    return gpus;
  }

  /** What a container may take part in that is being made; to be recorded before others choose. */
  @FunctionalInterface
  public interface Recorder {
    void record(GpuWiring.Wired wired);
  }

  public GpuWiring.Wired wire(GpuRequest request, Recorder recorder) throws InterruptedException {
    try (var _ = parts.locks().lock(LOCK)) {
      GpuWiring.Wired wired = wiring.wire(request, parts.uses().get());
      recorder.record(wired);
      return wired;
    } finally {
      changed();
    }
  }

  /**
   * Makes sure of what a container needs that was made earlier, maybe before the machine started.
   *
   * @param sources files of the host that are mounted into it
   */
  public void beforeStart(GpuUse use, List<Path> sources) throws InterruptedException {
    try (var _ = parts.locks().lock(LOCK)) {
      if (sources.contains(mps.pipes())) {
        mps.ensure();
      }
      if (use.request().sharing() instanceof GpuRequest.Sharing.TimeSlice(_, _, var turn)
          && turn.isPresent()) {
        for (String gpu : sliced(List.of(use))) {
          slices.set(gpu, turn.get());
        }
      }
    }
    for (Path source : sources) {
      String name = String.valueOf(source.getFileName());
      if ((name.contains("nvidia") || name.contains("cuda")) && !Files.exists(source)) {
        throw new AgentException.Configuration(
            "gpu: %s does not exist any more: the driver has changed; make the container again"
                .formatted(source));
      }
    }
    changed();
  }

  /** A container with a GPU was made, started or removed. */
  public void changed() {
    wake.release();
  }

  public List<Listed> list() throws InterruptedException {
    GpuCatalog.Found found = catalog.look();
    List<GpuUse> uses = parts.uses().get();
    Optional<NvidiaSmi> smi = NvidiaSmi.of(catalog);
    List<NvidiaSmi.GpuUse> busy = smi.isPresent() ? smi.get().gpus() : List.of();
    return found.devices().gpuKinds().stream()
        .flatMap(kind -> found.devices().ofKind(kind).stream())
        .map(device -> listed(device, found.own(), busy, uses))
        .toList();
  }

  private static Listed listed(
      CdiDevices.Device device, boolean own, List<NvidiaSmi.GpuUse> busy, List<GpuUse> uses) {
    Optional<String> uuid =
        device
            .annotation(DriverCdi.UUID)
            .or(() -> Optional.of(device.name()).filter(name -> name.startsWith("GPU-")));
    Optional<NvidiaSmi.GpuUse> now =
        busy.stream().filter(one -> uuid.filter(one.uuid()::equals).isPresent()).findFirst();
    return new Listed(
        device.name(),
        device.kind(),
        device.annotation(DriverCdi.MODEL),
        uuid,
        device.annotation(DriverCdi.BUS),
        own && device.kind().equals(DriverCdi.KIND) ? "driver" : "vendor",
        now.map(NvidiaSmi.GpuUse::memoryBytes).orElse(OptionalLong.empty()),
        now.map(NvidiaSmi.GpuUse::memoryUsedBytes).orElse(OptionalLong.empty()),
        now.map(NvidiaSmi.GpuUse::percent).orElse(OptionalDouble.empty()),
        uses.stream().filter(use -> use.devices().contains(device.qualified())).toList());
  }

  /** What these processes use together; nothing where the driver's program cannot say. */
  public Optional<Stats.Gpu> usage(List<Long> processes) {
    Map<Long, NvidiaSmi.ProcessUse> all = processes();
    long memory = 0;
    OptionalDouble percent = OptionalDouble.of(0);
    for (long process : processes) {
      NvidiaSmi.ProcessUse use = all.get(process);
      if (use != null) {
        memory += use.memoryBytes();
        percent =
            percent.isPresent() && use.percent().isPresent()
                ? OptionalDouble.of(percent.getAsDouble() + use.percent().getAsDouble())
                : OptionalDouble.empty();
      }
    }
    return Optional.of(new Stats.Gpu(memory, percent));
  }

  private synchronized Map<Long, NvidiaSmi.ProcessUse> processes() {
    Instant now = parts.clock().instant();
    if (reading.isEmpty()
        || Duration.between(reading.get().time(), now).abs().compareTo(FRESH) > 0) {
      reading = Optional.of(new Reading(now, readProcesses()));
    }
    return reading.get().processes();
  }

  private Map<Long, NvidiaSmi.ProcessUse> readProcesses() {
    try {
      Optional<NvidiaSmi> smi = NvidiaSmi.of(catalog);
      return smi.isPresent() ? smi.get().processes() : Map.of();
    } catch (AgentException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot read what processes use of the GPUs", e);
      return Map.of();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return Map.of();
    }
  }

  private void run() {
    try {
      boolean busy = true; // what an earlier agent left is looked at once
      while (!closed) {
        if (busy) {
          boolean _ = wake.tryAcquire(EVERY.toMillis(), TimeUnit.MILLISECONDS);
        } else {
          wake.acquire();
        }
        wake.drainPermits();
        busy = !closed && supervise();
      }
    } catch (InterruptedException _) {
      // the end
    }
  }

  /** Whether it has to be looked at again. */
  private boolean supervise() throws InterruptedException {
    try (var _ = parts.locks().lock(LOCK)) {
      List<GpuUse> uses = parts.uses().get();
      boolean wanted =
          uses.stream()
              .anyMatch(
                  use ->
                      use.request().sharing() instanceof GpuRequest.Sharing.Mps own
                          && own.pipeDir().isEmpty());
      if (mps.ours() && !wanted) {
        mps.quit();
      } else if (mps.ours() && !mps.answers()) {
        LOG.log(System.Logger.Level.WARNING, "the MPS daemon does not answer and is started again");
        mps.ensure();
      }
      slices.keep(sliced(uses));
      return !uses.isEmpty();
    } catch (AgentException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot keep GPUs as they are shared", e);
      return true;
    }
  }

  private Set<String> sliced(List<GpuUse> uses) {
    var names = new HashSet<String>();
    for (GpuUse use : uses) {
      if (use.request().sharing() instanceof GpuRequest.Sharing.TimeSlice(_, _, var turn)
          && turn.isPresent()) {
        names.addAll(use.devices());
      }
    }
    var sliced = new HashSet<String>();
    if (!names.isEmpty()) {
      CdiDevices devices = catalog.look().devices();
      for (String kind : devices.gpuKinds()) {
        devices.ofKind(kind).stream()
            .filter(device -> names.contains(device.qualified()))
            .map(GpuWiring::smiName)
            .forEach(sliced::add);
      }
    }
    return sliced;
  }

  /** Leaves the MPS daemon running, as the containers are. */
  @Override
  public void close() {
    closed = true;
    wake.release();
    try {
      boolean _ = thread.join(END);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }
}
