package dev.zlayer.spec.check;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.problem.Nearest;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.service.ReplicaGroup;
import java.util.HashSet;
import java.util.List;

/** Names of endpoints, roles they point to, and settings that fit their protocol. */
final class EndpointCheck {
  private EndpointCheck() {}

  static void check(ServiceSpec service, SpecPath path, Findings findings) {
    var names = new HashSet<String>();
    List<EndpointSpec> endpoints = service.networking().endpoints();
    for (int i = 0; i < endpoints.size(); i++) {
      SpecPath here = path.key("endpoints").index(i);
      EndpointSpec endpoint = endpoints.get(i);
      if (!names.add(endpoint.name())) {
        findings.problem(
            here.key("name"),
            "'%s' names two endpoints, write another name".formatted(endpoint.name()));
      }
      checkRole(endpoint, service.lifecycle().replicaGroups(), here, path, findings);
      checkProtocol(endpoint, here, findings);
    }
  }

  private static void checkRole(
      EndpointSpec endpoint,
      List<ReplicaGroup> groups,
      SpecPath here,
      SpecPath service,
      Findings findings) {
    List<String> roles =
        groups.isEmpty() ? List.of("default") : groups.stream().map(ReplicaGroup::role).toList();
    boolean known = endpoint.targetRole().map(roles::contains).orElse(true);
    if (!known && findings.clean(service.key("replica_groups"))) {
      String role = endpoint.targetRole().orElseThrow();
      findings.problem(
          here.key("target_role"),
          "no replica group has the role '%s'%s".formatted(role, Nearest.hint(role, roles)));
    }
  }

  private static void checkProtocol(EndpointSpec endpoint, SpecPath here, Findings findings) {
    if (!findings.clean(here.key("protocol"))) {
      return;
    }
    boolean http = endpoint.protocol().http();
    if (endpoint.stream().isPresent() && http) {
      findings.problem(here.key("stream"), "is only for protocol tcp or udp, remove it");
    }
    RouteCheck.check(endpoint, here, findings);
    endpoint
        .tunnel()
        .flatMap(tunnel -> tunnel.access().flatMap(access -> access.maxTtl()))
        .ifPresent(ttl -> findings.positive(here.key("tunnel").key("access").key("max_ttl"), ttl));
  }
}
