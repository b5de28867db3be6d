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
 * Which doors a service has. Pure.
 *
 * @param problems why endpoints have none
 */
record DoorPlan(List<Door> doors, List<String> problems) {
  /** {@code bridged} tells addresses that the kernel can lead to. */
  static DoorPlan of(Members service, Predicate<InetAddress> bridged) {
    var doors = new ArrayList<Door>();
    var problems = new ArrayList<String>();
    Set<Door.Key> keys = new HashSet<>();
    for (EndpointSpec endpoint : service.endpoints()) {
      Optional<Door.Key> key = key(service, endpoint);
      if (key.isEmpty()) {
        continue;
      }
      Optional<String> problem =
          problem(endpoint)
              .or(
                  () ->
                      keys.add(key.get())
                          ? Optional.empty()
                          : Optional.of("another endpoint of the service has the same port"));
      if (problem.isPresent()) {
        problems.add("endpoint '%s': %s".formatted(endpoint.name(), problem.get()));
        continue;
      }
      List<InetAddress> ready =
          service.members().stream()
              .filter(Member::ready)
              .filter(member -> chosen(endpoint, member.id()))
              .map(Member::address)
              .toList();
      Door.Way way = way(endpoint, service.members(), bridged);
      if (way == Door.Way.RELAY && key.get().transport() == Transport.UDP) {
        problems.add(
            "endpoint '%s': datagrams are led to containers of the Linux runtime only"
                .formatted(endpoint.name()));
        continue;
      }
      doors.add(
          new Door(
              key.get(), service.service(), endpoint.name(), endpoint.containerPort(), way, ready));
    }
    return new DoorPlan(List.copyOf(doors), List.copyOf(problems));
  }

  /** Empty when the endpoint is for the deployment's own network only. */
  private static Optional<Door.Key> key(Members service, EndpointSpec endpoint) {
    Transport transport = endpoint.protocol().transport();
    if (endpoint.expose() == Exposure.PUBLIC) {
      return Optional.of(new Door.Key(transport, false, endpoint.port()));
    }
    boolean asked =
        switch (service.loopback()) {
          case ALWAYS -> true;
          case NEVER -> false;
          case AUTO -> single(service.members());
        };
    return asked ? Optional.of(new Door.Key(transport, true, endpoint.port())) : Optional.empty();
  }

  /** The old and the new container of one replica are still one replica. */
  private static boolean single(List<Member> members) {
    return members.stream().map(member -> member.id().withGeneration(0)).distinct().count() <= 1;
  }

  private static Optional<String> problem(EndpointSpec endpoint) {
    boolean host = endpoint.host().filter(text -> !text.equals("*")).isPresent();
    boolean path = endpoint.path().filter(text -> !text.equals("/")).isPresent();
    return host || path
        ? Optional.of("requests are not told apart by host or path yet, use a port of its own")
        : Optional.empty();
  }

  private static boolean chosen(EndpointSpec endpoint, ContainerId member) {
    return endpoint.targetRole().map(role -> role.equals(member.role())).orElse(true);
  }

  private static Door.Way way(
      EndpointSpec endpoint, List<Member> members, Predicate<InetAddress> bridged) {
    if (members.isEmpty() || members.stream().map(Rotation.Member::address).allMatch(bridged)) {
      return Door.Way.KERNEL;
    }
    if (members.stream().map(Rotation.Member::address).allMatch(InetAddress::isLoopbackAddress)) {
      return endpoint.port() == endpoint.containerPort() ? Door.Way.DIRECT : Door.Way.REDIRECT;
    }
    return Door.Way.RELAY;
  }

  /** An internal door that nobody asked for by name is left out when its place is taken. */
  static boolean optional(Door door, Reachability loopback) {
    return door.key().loopback() && loopback == Reachability.AUTO;
  }
}
