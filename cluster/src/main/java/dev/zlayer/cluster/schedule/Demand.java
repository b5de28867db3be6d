package dev.zlayer.cluster.schedule;

import dev.zlayer.spec.placement.PlacementSpec.NodeMode;
import dev.zlayer.spec.resources.GpuSpec;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What one replica takes of a node. It is kept with the placement, so that a replica of an older
 * revision counts with what that revision asked for.
 *
 * @param volumes named volumes, with the deployment's name where they belong to one; each lies on
 *     one node
 */
public record Demand(
    long cpuMillis,
    long memoryBytes,
    Optional<Gpus> gpus,
    Set<HostPort> ports,
    Set<String> volumes,
    NodeMode mode) {
  public static final Demand NOTHING =
      new Demand(0, 0, Optional.empty(), Set.of(), Set.of(), NodeMode.SHARED);

  public Demand {
    ports = Set.copyOf(ports);
    volumes = Set.copyOf(volumes);
  }

  /**
   * GPUs of one replica.
   *
   * @param model part of the model's name; empty for any
   * @param devices names in place of the number; empty for none, {@code all} for every one
   */
  public record Gpus(
      int count,
      GpuSpec.Vendor vendor,
      String model,
      List<String> devices,
      GpuSpec.Sharing sharing) {
    public Gpus {
      devices = List.copyOf(devices);
    }

    /** How many replicas one GPU carries. */
    int replicasPerGpu() {
      return switch (sharing) {
        case EXCLUSIVE -> 1;
        case MPS -> 8;
        case TIME_SLICE -> 4;
      };
    }
  }
}
