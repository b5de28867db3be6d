package dev.zlayer.spec.check;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.ImageSpec;
import dev.zlayer.spec.LogsSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.network.OverlaySpec;
import dev.zlayer.spec.placement.PlacementSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.resources.GpuSpec;
import dev.zlayer.spec.resources.ResourcesSpec;
import dev.zlayer.spec.security.SecuritySettings;
import dev.zlayer.spec.service.ReplicaGroup;
import dev.zlayer.spec.service.ScaleSpec;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.spec.storage.StorageTier;
import dev.zlayer.spec.value.SecretRef;
import java.util.ArrayList;
import java.util.List;

/**
 * Values that can be read and that nothing acts on yet. Whoever builds one of them removes its rule
 * here; keys that are refused whatever their value are listed in {@code UnsupportedKeys}.
 */
public final class SupportCheck {
  /** As {@code UnsupportedKeys} has it, which knows by it what a cluster honours. */
  private static final String IN_CLUSTER =
      "only a cluster has several nodes, begin one with 'zlayer cluster init'";

  private static final String ONE_TIER = "all volumes lie on the local disk";

  /** The one parent that a network between nodes has. */
  private static final String CLUSTER = "cluster";

  /** Without a profile of its own a container is as free as these two ask. */
  private static final List<String> HARMLESS = List.of("label=disable", "label:disable");

  /** Is told what is not supported. */
  @FunctionalInterface
  interface Refusals {
    void add(SpecPath path, String reason);

    default void addIf(boolean wrong, SpecPath path, String reason) {
      if (wrong) {
        add(path, reason);
      }
    }
  }

  private SupportCheck() {}

  static void check(ServiceSpec service, SpecPath path, Findings findings) {
    find(service, path, findings::notHonoured);
  }

  /**
   * For a service that was not read from a file.
   *
   * @throws AgentException.Unsupported values are not supported; all are named with their paths
   */
  public static void require(ServiceSpec service, String name) {
    var found = new ArrayList<String>();
    find(service, Checks.service(name), (path, reason) -> found.add(path + ": " + reason));
    if (!found.isEmpty()) {
      throw new AgentException.Unsupported(String.join("; ", found));
    }
  }

  private static void find(ServiceSpec service, SpecPath path, Refusals refusals) {
    refusals.addIf(
        service.image().sourcePolicy() != ImageSpec.SourcePolicy.LOCAL_FIRST,
        path.key("image").key("source_policy"),
        "there is no shared image store yet");
    placement(service, path, refusals);
    refusals.addIf(
        service.networking().network().isPresent(),
        path.key("network"),
        "services choose neither access nor encryption of the network between nodes");
    service
        .networking()
        .overlay()
        .ifPresent(overlay -> overlay(overlay, path.key("overlay"), refusals));
    scale(service, path, refusals);
    storage(service, path.key("storage"), refusals);
    security(service.security(), path, refusals);
    service
        .resources()
        .gpu()
        .ifPresent(gpu -> gpu(gpu, path.key("resources").key("gpu"), refusals));
    roles(service.lifecycle().replicaGroups(), path.key("replica_groups"), refusals);
    refusals.addIf(
        service.logs().destination() == LogsSpec.Destination.MEMORY
            && service.rtype() != RunType.SERVICE,
        path.key("logs").key("destination"),
        "the output of an execution is kept on disk with its result, write disk");
    WasmSupport.find(service, path, refusals);
    WarmSupport.find(service, path, refusals);
  }

  private static void roles(List<ReplicaGroup> roles, SpecPath path, Refusals refusals) {
    for (int i = 0; i < roles.size(); i++) {
      SpecPath here = path.index(i).key("resources").key("gpu");
      roles
          .get(i)
          .resources()
          .flatMap(ResourcesSpec::gpu)
          .ifPresent(gpu -> gpu(gpu, here, refusals));
    }
  }

  private static void overlay(OverlaySpec overlay, SpecPath path, Refusals refusals) {
    refusals.addIf(
        overlay.mode() == OverlaySpec.Mode.DEDICATED,
        path.key("mode"),
        "the services of a deployment share one network, which other deployments do not reach;"
            + " give this one a deployment of its own");
    refusals.addIf(
        !overlay.parent().orElse(CLUSTER).equals(CLUSTER),
        path.key("parent"),
        "there is one network between nodes; write cluster, or leave it out");
  }

  private static void placement(ServiceSpec service, SpecPath path, Refusals refusals) {
    PlacementSpec placement = service.placement();
    refusals.addIf(
        placement.nodeMode() != PlacementSpec.NodeMode.SHARED, path.key("node_mode"), IN_CLUSTER);
    refusals.addIf(placement.nodeSelector().isPresent(), path.key("node_selector"), IN_CLUSTER);
    refusals.addIf(placement.affinity().isPresent(), path.key("affinity"), IN_CLUSTER);
    refusals.addIf(
        placement.isolation().isPresent(),
        path.key("isolation"),
        "Windows containers are not isolated by the agent");
  }

  private static void scale(ServiceSpec service, SpecPath path, Refusals refusals) {
    if (service.rtype() != RunType.SERVICE
        || !service.lifecycle().replicaGroups().isEmpty()
        || !(service.lifecycle().scale() instanceof ScaleSpec.Adaptive adaptive)) {
      return;
    }
    refusals.addIf(
        adaptive.targets().memory().isPresent() && service.resources().memory().isEmpty(),
        path.key("scale").key("targets").key("memory"),
        "it is a part of the memory limit, write resources.memory too");
  }

  private static void storage(ServiceSpec service, SpecPath path, Refusals refusals) {
    for (int i = 0; i < service.storage().size(); i++) {
      SpecPath here = path.index(i);
      switch (service.storage().get(i)) {
        case StorageSpec.Named(_, _, _, var tier, var size) -> {
          refusals.addIf(tier != StorageTier.LOCAL, here.key("tier"), ONE_TIER);
          refusals.addIf(
              size.isPresent(),
              here.key("size"),
              "directories cannot be limited in size, remove it or bind a disk of that size");
        }
        case StorageSpec.Anonymous(_, var tier) ->
            refusals.addIf(tier != StorageTier.LOCAL, here.key("tier"), ONE_TIER);
        case StorageSpec.S3 bucket -> {
          refusals.addIf(
              !bucket.readonly() && service.rtype() == RunType.SERVICE,
              here.key("readonly"),
              "copies of replicas would overwrite each other in the bucket, write readonly: true");
          refusals.addIf(
              bucket.credentials().flatMap(SecretRef::field).isPresent(),
              here.key("credentials"),
              "name the whole secret, with the fields access_key and secret_key");
        }
        case StorageSpec.Bind _, StorageSpec.Tmpfs _ -> {}
      }
    }
  }

  private static void security(SecuritySettings security, SpecPath path, Refusals refusals) {
    refusals.addIf(
        security.ipcMode().filter("none"::equals).isPresent(),
        path.key("ipc_mode"),
        "a container always has shared memory of its own, write private");
    for (int i = 0; i < security.securityOpt().size(); i++) {
      String option = security.securityOpt().get(i);
      refusals.addIf(
          option.startsWith("label") && !HARMLESS.contains(option),
          path.key("security_opt").index(i),
          "SELinux labels are not applied yet");
    }
  }

  private static void gpu(GpuSpec gpu, SpecPath path, Refusals refusals) {
    refusals.addIf(
        gpu.mode().filter(mode -> mode != GpuSpec.Mode.MPS).isPresent(),
        path.key("mode"),
        "macOS is not supported");
    refusals.addIf(gpu.scheduling().isPresent(), path.key("scheduling"), IN_CLUSTER);
    refusals.addIf(gpu.distributed().isPresent(), path.key("distributed"), IN_CLUSTER);
  }
}
