package dev.zlayer.cluster.schedule;

import dev.zlayer.oci.Platform;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.placement.Affinity;
import dev.zlayer.spec.placement.NodeSelector;
import dev.zlayer.spec.placement.PlatformSpec;
import dev.zlayer.spec.resources.GpuSpec;
import dev.zlayer.spec.resources.GpuSpec.Scheduling;
import dev.zlayer.spec.resources.ResourcesSpec;
import dev.zlayer.spec.service.ReplicaGroup;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.spec.value.ByteSize;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** What the keys of a deployment file mean to the scheduler. */
public final class Workloads {
  /** The label that names a runtime, and the value that names none. */
  private static final String ISOLATION_LABEL = "com.zlayer.isolation";

  private static final String AUTOMATIC = "auto";
  private static final int MILLIS = 1000;

  private Workloads() {}

  /**
   * What is wanted of a service, a role of it, or an execution of a job.
   *
   * @param id of the workload
   * @param service its name among the names of the deployment
   * @param spec with the settings of its role
   * @param group the role it is, if it is one
   * @param image the platforms of the image's manifest; empty when they are not known
   * @param revision of what containers are made from
   */
  public static Workload of(
      String id,
      String service,
      ServiceSpec spec,
      Optional<ReplicaGroup> group,
      List<Platform> image,
      String revision,
      int replicas,
      boolean singleInstance) {
    Optional<GpuSpec> gpu = spec.resources().gpu();
    Optional<Workload.Distributed> distributed =
        gpu.flatMap(GpuSpec::distributed)
            .map(
                settings ->
                    new Workload.Distributed(
                        group.map(role -> role.role() + "." + service).orElse(service),
                        settings.backend(),
                        settings.masterPort()));
    return new Workload(
        id,
        // every replica knows how many there are
        distributed.isPresent() ? revision + "/" + replicas : revision,
        replicas,
        demand(spec),
        constraints(spec, group, image),
        new Workload.Rollout(
            spec.lifecycle().update().unavailable(), spec.lifecycle().update().surge()),
        gpu.flatMap(GpuSpec::scheduling).filter(Scheduling.GANG::equals).isPresent(),
        singleInstance,
        distributed);
  }

  /** A limit without a reservation is reserved: all replicas of a node can then use their limit. */
  public static Demand demand(ServiceSpec spec) {
    ResourcesSpec resources = spec.resources();
    Set<HostPort> ports =
        spec.networking().portMappings().stream()
            .filter(port -> port.hostPort() > 0)
            .map(port -> new HostPort(port.hostPort(), port.protocol()))
            .collect(Collectors.toSet());
    Set<String> volumes =
        spec.storage().stream()
            .filter(StorageSpec.Named.class::isInstance)
            .map(storage -> ((StorageSpec.Named) storage).name())
            .collect(Collectors.toSet());
    return new Demand(
        (long) Math.ceil(resources.cpu().orElse(0.0) * MILLIS),
        resources.memoryReservation().or(resources::memory).map(ByteSize::bytes).orElse(0L),
        resources.gpu().map(Workloads::gpus),
        ports,
        volumes,
        spec.placement().nodeMode());
  }

  private static Demand.Gpus gpus(GpuSpec gpu) {
    return new Demand.Gpus(
        gpu.count(),
        gpu.vendor(),
        gpu.model().orElse(""),
        gpu.devices()
            .or(() -> gpu.timeSliceIndex().map(index -> List.of(Integer.toString(index))))
            .orElse(List.of()),
        gpu.effectiveSharing().orElse(GpuSpec.Sharing.EXCLUSIVE));
  }

  private static Constraints constraints(
      ServiceSpec spec, Optional<ReplicaGroup> group, List<Platform> image) {
    Optional<NodeSelector> selector = spec.placement().nodeSelector();
    return new Constraints(
        spec.placement().platform().map(Workloads::platform).map(List::of).orElse(image),
        Optional.ofNullable(spec.labels().get(ISOLATION_LABEL))
            .map(label -> label.strip().toLowerCase(Locale.ROOT))
            .filter(label -> !label.isEmpty() && !label.equals(AUTOMATIC)),
        selector.map(NodeSelector::labels).orElse(Map.of()),
        selector.map(NodeSelector::preferLabels).orElse(Map.of()),
        affinity(spec, group));
  }

  /**
   * Without a written one, replicas spread, so that the loss of a node costs few of them; those
   * with GPUs go close together and leave whole nodes to those that need many.
   */
  private static Affinity affinity(ServiceSpec spec, Optional<ReplicaGroup> group) {
    Optional<GpuSpec> gpu = spec.resources().gpu();
    boolean spread =
        gpu.isEmpty()
            || gpu.flatMap(GpuSpec::scheduling).filter(Scheduling.SPREAD::equals).isPresent();
    return spec.placement()
        .affinity()
        .or(() -> group.map(ReplicaGroup::affinity))
        .orElseGet(() -> spread ? new Affinity.Spread() : new Affinity.Pack());
  }

  private static Platform platform(PlatformSpec platform) {
    return new Platform(
        platform.os().name(), platform.arch().name(), Optional.empty(), platform.osVersion());
  }
}
