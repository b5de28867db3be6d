package dev.zlayer.runtime.cni;

import dev.zlayer.container.IpText;
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
 * @param gatewayIpv6 the machine's own address in it; the first one when absent
 * @param rangeIpv6 the part of it from which addresses are given
 * @param reserved addresses of either kind that no container gets, by what they are for
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
    Optional<Instant> created,
    Optional<InetAddress> gatewayIpv6,
    Optional<Subnet6> rangeIpv6,
    Map<String, InetAddress> reserved) {
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
    reserved = Map.copyOf(reserved);
  }

  /** Without what few ask for. */
  public NetworkOptions(
      Optional<Subnet> subnet,
      Optional<InetAddress> gateway,
      Optional<Subnet> range,
      boolean ipv6,
      Optional<Subnet6> subnetIpv6,
      boolean internal,
      Map<String, String> labels,
      Optional<Instant> created) {
    this(
        subnet,
        gateway,
        range,
        ipv6,
        subnetIpv6,
        internal,
        labels,
        created,
        Optional.empty(),
        Optional.empty(),
        Map.of());
  }

  private void checkIpv6(String network) {
    if (subnetIpv6.isEmpty() && (gatewayIpv6.isPresent() || rangeIpv6.isPresent())) {
      throw new AgentException.InvalidSpec(
          "network '%s': a gateway or a range of IPv6 addresses needs a subnet".formatted(network));
    }
    if (gatewayIpv6.filter(address -> !subnetIpv6.orElseThrow().contains(address)).isPresent()) {
      throw new AgentException.InvalidSpec(
          "network '%s': gateway %s is not in subnet %s"
              .formatted(network, IpText.of(gatewayIpv6.get()), subnetIpv6.get()));
    }
    if (rangeIpv6
        .filter(
            part ->
                part.prefixLength() < subnetIpv6.orElseThrow().prefixLength()
                    || !subnetIpv6.get().contains(part.address()))
        .isPresent()) {
      throw new AgentException.InvalidSpec(
          "network '%s': range %s is not in subnet %s"
              .formatted(network, rangeIpv6.get(), subnetIpv6.get()));
    }
  }

  /** Throws unless the addresses fit together. */
  void check(String network) {
    if (subnetIpv6.isPresent() && !ipv6) {
      throw new AgentException.InvalidSpec(
          "network '%s': subnet %s needs IPv6; add --ipv6".formatted(network, subnetIpv6.get()));
    }
    if (gateway.isPresent() && gateway.get() instanceof Inet6Address) {
      throw new AgentException.InvalidSpec(
          "network '%s': %s is not the IPv4 address of a gateway"
              .formatted(network, IpText.of(gateway.get())));
    }
    checkIpv6(network);
    for (InetAddress address : reserved.values()) {
      boolean inside =
          subnet.filter(all -> all.contains(address)).isPresent()
              || subnetIpv6.filter(all -> all.contains(address)).isPresent();
      if (!inside) {
        throw new AgentException.InvalidSpec(
            "network '%s': reserved address %s is in no subnet of it"
                .formatted(network, IpText.of(address)));
      }
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
