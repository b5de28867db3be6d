package dev.zlayer.runtime.cni;

import dev.zlayer.error.AgentException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/**
 * What was asked for when a network was created; all of it can be left to the agent.
 *
 * @param gateway the machine's own address in it; the first one when absent
 * @param range the part of the subnet from which addresses are given
 * @param ipv6 its containers get IPv6 addresses besides
 * @param subnetIpv6 from which; an unused one when absent
 * @param internal its containers reach each other and the machine, and get no way out
 */
public record NetworkOptions(
    Optional<Subnet> subnet,
    Optional<InetAddress> gateway,
    Optional<Subnet> range,
    boolean ipv6,
    Optional<Subnet6> subnetIpv6,
    boolean internal,
    Map<String, String> labels,
    Optional<Instant> created) {
  public static final NetworkOptions NONE =
      new NetworkOptions(
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          false,
          Optional.empty(),
          false,
          Map.of(),
          Optional.empty());

  public NetworkOptions {
    labels = Map.copyOf(labels);
  }

  /** Throws unless the addresses fit together. */
  void check(String network) {
    if (subnetIpv6.isPresent() && !ipv6) {
      throw new AgentException.InvalidSpec(
          "network '%s': subnet %s needs IPv6; add --ipv6".formatted(network, subnetIpv6.get()));
    }
    if (gateway.isPresent() && gateway.get() instanceof Inet6Address) {
      throw new AgentException.InvalidSpec(
          "network '%s': the gateway of the IPv6 subnet is its first address; leave it out"
              .formatted(network));
    }
    if (subnet.isEmpty() && (gateway.isPresent() || range.isPresent())) {
      throw new AgentException.InvalidSpec(
          "network '%s': a gateway or a range of addresses needs a subnet".formatted(network));
    }
    if (subnet.isEmpty()) {
      return;
    }
    Subnet all = subnet.get();
    if (all.prefixLength() > 30) {
      throw new AgentException.InvalidSpec(
          "network '%s': subnet %s has no room for containers".formatted(network, all));
    }
    gateway
        .filter(address -> !all.contains(address))
        .ifPresent(
            address -> {
              throw new AgentException.InvalidSpec(
                  "network '%s': gateway %s is not in subnet %s"
                      .formatted(network, address.getHostAddress(), all));
            });
    range
        .filter(part -> part.prefixLength() < all.prefixLength() || !all.contains(part.host(0)))
        .ifPresent(
            part -> {
              throw new AgentException.InvalidSpec(
                  "network '%s': range %s is not in subnet %s".formatted(network, part, all));
            });
  }
}
