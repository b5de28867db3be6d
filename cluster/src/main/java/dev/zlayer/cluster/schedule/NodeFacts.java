package dev.zlayer.cluster.schedule;

import dev.zlayer.oci.Platform;
import dev.zlayer.spec.resources.GpuSpec;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A node that is alive, as it registered itself. A node that is not among the facts is lost.
 *
 * @param id never used again for another node
 * @param revision changes with every change of these facts; a placement is only written while it is
 *     still the same
 * @param platforms what its runtimes serve
 * @param runtimes names of its runtimes
 * @param ports host ports that something other than a placed replica uses
 */
public record NodeFacts(
    String id,
    String name,
    long revision,
    Status status,
    long cpuMillis,
    long memoryBytes,
    List<Gpu> gpus,
    List<Platform> platforms,
    Set<String> runtimes,
    Map<String, String> labels,
    Set<HostPort> ports) {
  public NodeFacts {
    gpus = List.copyOf(gpus);
    platforms = List.copyOf(platforms);
    runtimes = Set.copyOf(runtimes);
    labels = Map.copyOf(labels);
    ports = Set.copyOf(ports);
  }

  /** Whether it gets new replicas. */
  public enum Status {
    READY,
    /** Keeps what it has and gets nothing new. */
    CORDONED,
    /** What it has moves to other nodes. */
    DRAINING
  }

  /**
   * One GPU, or a part of one that is a device of its own.
   *
   * @param id as {@code gpu.devices} names it, unique among those of its vendor: an index, or a MIG
   *     device
   * @param uuid another name for it; may be empty
   */
  public record Gpu(String id, String uuid, GpuSpec.Vendor vendor, String model) {}
}
