package dev.zlayer.proxy;

import dev.zlayer.port.Rotation.Members;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A service as it is published.
 *
 * @param members empty when only the rules of the agent before are known
 * @param addresses to which connections may be forwarded
 * @param settled false after a failure: what the kernel and the disk have is unknown
 */
record Published(
    Optional<Members> members,
    Map<Endpoint.Key, Endpoint> endpoints,
    Set<InetAddress> addresses,
    boolean settled) {
  static final Published NONE = new Published(Optional.empty(), Map.of());

  Published {
    addresses = Set.copyOf(addresses);
  }

  Published(Optional<Members> members, Map<Endpoint.Key, Endpoint> endpoints) {
    this(members, endpoints, addresses(members, endpoints), true);
  }

  /** This one, after an attempt to publish the next failed somewhere. */
  Published failed(Published next) {
    var either = new HashSet<>(addresses);
    either.addAll(next.addresses);
    return new Published(next.members.or(() -> members), endpoints, either, false);
  }

  /** The endpoints that the other does not have. */
  List<Endpoint> without(Published other) {
    var rest = new HashMap<>(endpoints);
    rest.keySet().removeAll(other.endpoints.keySet());
    return List.copyOf(rest.values());
  }

  private static Set<InetAddress> addresses(
      Optional<Members> members, Map<Endpoint.Key, Endpoint> endpoints) {
    var addresses = new HashSet<InetAddress>();
    endpoints.values().forEach(endpoint -> addresses.addAll(endpoint.members()));
    members.ifPresent(known -> known.members().forEach(one -> addresses.addAll(one.addresses())));
    return addresses;
  }
}
