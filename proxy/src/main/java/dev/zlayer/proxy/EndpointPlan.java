package dev.zlayer.proxy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.port.Rotation;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.Exposure;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.spec.value.Transport;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Which endpoints of a service listen on this host, and where they forward to; those with a host or
 * a path are the ingress's. Pure.
 *
 * @param problems why endpoints are not served
 */
record EndpointPlan(List<Endpoint> endpoints, List<String> problems) {
  /** {@code bridged} holds for addresses that the kernel can forward to. */
  static EndpointPlan of(Members service, Predicate<InetAddress> bridged) {
    var endpoints = new ArrayList<Endpoint>();
    var problems = new ArrayList<String>();
    Set<Endpoint.Key> keys = new HashSet<>();
    for (EndpointSpec endpoint : service.endpoints()) {
      Optional<Endpoint.Key> key = key(service, endpoint);
      if (key.isEmpty() || endpoint.route().routed()) {
        continue;
      }
      if (!keys.add(key.get())) {
        problems.add(
            "endpoint '%s': another endpoint of the service has the same port"
                .formatted(endpoint.name()));
        continue;
      }
      List<InetAddress> ready =
          service.members().stream()
              .filter(Member::ready)
              .filter(member -> chosen(endpoint, member.id()))
              .flatMap(member -> member.addresses().stream())
              .toList();
      Endpoint.Forwarding forwarding = forwarding(endpoint, service.members(), bridged);
      if (forwarding == Endpoint.Forwarding.RELAY && key.get().transport() == Transport.UDP) {
        problems.add(
            "endpoint '%s': datagrams are forwarded to containers of the Linux runtime only"
                .formatted(endpoint.name()));
        continue;
      }
      endpoints.add(
          new Endpoint(
              key.get(),
              service.service(),
              endpoint.name(),
              endpoint.containerPort(),
              forwarding,
              ready));
    }
    return new EndpointPlan(List.copyOf(endpoints), List.copyOf(problems));
  }

  /** Empty when the endpoint is for the deployment's own network only. */
  private static Optional<Endpoint.Key> key(Members service, EndpointSpec endpoint) {
    Transport transport = endpoint.protocol().transport();
    if (endpoint.expose() == Exposure.PUBLIC) {
      return Optional.of(new Endpoint.Key(transport, false, endpoint.port()));
    }
    boolean asked =
        switch (service.loopback()) {
          case ALWAYS -> true;
          case NEVER -> false;
          case AUTO -> single(service.members());
        };
    return asked
        ? Optional.of(new Endpoint.Key(transport, true, endpoint.port()))
        : Optional.empty();
  }

  /** The old and the new container of one replica are still one replica. */
  private static boolean single(List<Member> members) {
    return members.stream().map(member -> member.id().withGeneration(0)).distinct().count() <= 1;
  }

  private static boolean chosen(EndpointSpec endpoint, ContainerId member) {
    return endpoint.targetRole().map(role -> role.equals(member.role())).orElse(true);
  }

  private static Endpoint.Forwarding forwarding(
      EndpointSpec endpoint, List<Member> members, Predicate<InetAddress> bridged) {
    if (members.isEmpty() || members.stream().map(Rotation.Member::address).allMatch(bridged)) {
      return Endpoint.Forwarding.KERNEL;
    }
    if (members.stream().map(Rotation.Member::address).allMatch(InetAddress::isLoopbackAddress)) {
      return endpoint.port() == endpoint.containerPort()
          ? Endpoint.Forwarding.DIRECT
          : Endpoint.Forwarding.REDIRECT;
    }
    return Endpoint.Forwarding.RELAY;
  }

  /** An internal endpoint that was not asked for explicitly is left out when its port is taken. */
  static boolean optional(Endpoint endpoint, Reachability loopback) {
    return endpoint.key().loopback() && loopback == Reachability.AUTO;
  }
}
