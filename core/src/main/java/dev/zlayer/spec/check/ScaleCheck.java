package dev.zlayer.spec.check;

import dev.zlayer.oci.PullPolicy;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.service.ReplicaGroup;
import dev.zlayer.spec.service.ScaleSpec;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Ranges of replicas, roles of groups, and room for updates. */
final class ScaleCheck {
  /** Roles of containers that run init steps and jobs. */
  private static final Set<String> RESERVED = Set.of("init", "job");

  private ScaleCheck() {}

  static void check(ServiceSpec service, SpecPath path, Findings findings) {
    SpecPath scale = path.key("scale");
    if (service.lifecycle().scale() instanceof ScaleSpec.Adaptive adaptive
        && adaptive.min() > adaptive.max()
        && findings.clean(scale)) {
      findings.problem(
          scale.key("min"),
          "%d is more than max, which is %d, write a smaller number"
              .formatted(adaptive.min(), adaptive.max()));
    }
    if (service.lifecycle().scale() instanceof ScaleSpec.Adaptive adaptive
        && service.rtype() == RunType.SERVICE
        && findings.clean(scale)) {
      checkRequests(adaptive, service, path, findings);
    }
    checkGroups(service, path, findings);
    checkUpdate(service, path.key("update"), findings);
    SpecPath auto = path.key("update").key("auto_update");
    PullPolicy policy = service.image().pullPolicy();
    if (service.lifecycle().update().autoUpdate().isPresent()
        && policy != PullPolicy.NEWER
        && policy != PullPolicy.ALWAYS
        && findings.clean(path.key("image").key("pull_policy"))) {
      findings.problem(
          auto, "needs image.pull_policy: newer, else the image never changes; write that too");
    }
  }

  /** What follows requests needs an endpoint where they are counted, and wait. */
  private static void checkRequests(
      ScaleSpec.Adaptive adaptive, ServiceSpec service, SpecPath path, Findings findings) {
    SpecPath scale = path.key("scale");
    List<EndpointSpec> endpoints = service.networking().endpoints();
    if (adaptive.targets().rps().isPresent()
        && endpoints.stream().noneMatch(one -> one.route().routed())) {
      findings.problem(
          scale.key("targets").key("rps"),
          "requests are counted by the ingress, write host or path at an endpoint");
    }
    if (!adaptive.toZero()) {
      if (findings.written(scale.key("idle"))) {
        findings.problem(scale.key("idle"), "is only for min: 0, write that or remove it");
      }
      return;
    }
    findings.positive(scale.key("idle"), adaptive.idleTime());
    if (!service.lifecycle().replicaGroups().isEmpty()) {
      findings.problem(scale.key("min"), "replica groups have fixed counts, remove 'scale'");
    } else if (endpoints.isEmpty()) {
      findings.problem(
          scale.key("min"),
          "nothing starts a replica again, write an endpoint with host and hold, or 1");
    }
    for (int i = 0; i < endpoints.size(); i++) {
      if (!endpoints.get(i).route().routed() || endpoints.get(i).route().hold().isEmpty()) {
        findings.problem(
            path.key("endpoints").index(i),
            "cannot wait for the first replica of scale.min: 0, write host or path and hold, or"
                + " scale.min: 1");
      }
    }
    if (!service.networking().portMappings().isEmpty()) {
      findings.problem(
          path.key("port_mappings"),
          "cannot wait for the first replica of scale.min: 0, remove it or write scale.min: 1");
    }
  }

  private static void checkGroups(ServiceSpec service, SpecPath path, Findings findings) {
    List<ReplicaGroup> groups = service.lifecycle().replicaGroups();
    var roles = new HashSet<String>();
    for (int i = 0; i < groups.size(); i++) {
      if (!roles.add(groups.get(i).role())) {
        findings.problem(
            path.key("replica_groups").index(i).key("role"),
            "'%s' names two groups, write another role".formatted(groups.get(i).role()));
      }
    }
    for (int i = 0; i < groups.size(); i++) {
      if (RESERVED.contains(groups.get(i).role())) {
        findings.problem(
            path.key("replica_groups").index(i).key("role"),
            "'%s' names containers of the agent's own, write another role"
                .formatted(groups.get(i).role()));
      }
    }
    int sum = groups.stream().mapToInt(ReplicaGroup::count).sum();
    if (service.lifecycle().scale() instanceof ScaleSpec.Fixed(int replicas)
        && !groups.isEmpty()
        && replicas != sum
        && findings.clean(path.key("replica_groups"))) {
      findings.problem(
          path.key("scale").key("replicas"),
          "is %d, but the replica groups count %d, remove 'scale'".formatted(replicas, sum));
    }
  }

  private static void checkUpdate(ServiceSpec service, SpecPath path, Findings findings) {
    var update = service.lifecycle().update();
    if (update.unavailable() == 0 && update.surge() == 0 && findings.clean(path)) {
      findings.problem(
          path, "neither max_unavailable nor max_surge leaves room, write 1 for one of them");
    }
  }
}
