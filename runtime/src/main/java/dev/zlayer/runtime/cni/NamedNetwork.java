package dev.zlayer.runtime.cni;

import dev.zlayer.container.IpText;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Ipv6;
import dev.zlayer.json.Json;
import dev.zlayer.port.DeploymentNames;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A bridge with a range of addresses of its own. */
public record NamedNetwork(
    String name,
    String bridge,
    Subnet subnet,
    Optional<Subnet6> subnetIpv6,
    NetworkOptions options) {
  public NamedNetwork(String name, String bridge, Subnet subnet) {
    this(name, bridge, subnet, Optional.empty(), NetworkOptions.NONE);
  }

  /** The one a container is on when it names none. */
  public static final String DEFAULT = "default";

  /** The name of the network that a container is on; empty when it has none. */
  static Optional<String> of(NetworkSpec spec) {
    return switch (spec.mode()) {
      case NetworkSpec.Mode.Bridge(var network) -> Optional.of(network.orElse(DEFAULT));
      case NetworkSpec.Mode.None _ -> {
        if (!spec.ports().isEmpty()) {
          throw new AgentException.InvalidSpec(
              "ports cannot be published by a container without a network");
        }
        yield Optional.empty();
      }
      case NetworkSpec.Mode.Host _, NetworkSpec.Mode.Shared _ ->
          throw new AgentException.Internal("this network mode has no namespace of its own");
    };
  }

  /** The range of IPv6 addresses that containers get, if they get any on this host as it is now. */
  public Optional<Subnet6> dualStack() {
    return subnetIpv6.filter(_ -> Ipv6.obstacle().isEmpty());
  }

  boolean contains(InetAddress address) {
    return subnet.contains(address)
        || subnetIpv6.filter(range -> range.contains(address)).isPresent();
  }

  /** All ranges, for people. */
  String ranges() {
    return subnet + subnetIpv6.map(range -> " or " + range).orElse("");
  }

  /** The machine's own address in it. */
  public InetAddress gateway() {
    return options.gateway().orElseGet(() -> subnet.host(1));
  }

  /** The same among its IPv6 addresses, if it has any. */
  public Optional<InetAddress> gatewayIpv6() {
    return options.gatewayIpv6().or(() -> subnetIpv6.map(Subnet6::gateway));
  }

  /** Whether it is the network of a deployment, which the engine opens and closes. */
  boolean ofDeployment() {
    return name.startsWith(DeploymentBridges.PREFIX);
  }

  DeploymentNames.Range range() {
    return new DeploymentNames.Range(bridge, subnet.host(0), subnet.prefixLength(), gateway());
  }

  /**
   * The plugins that connect a container to it. Addresses are masqueraded and ports published by
   * {@link Rules}, which costs a tenth of what the plugins take for it.
   */
  List<Json> chain(Path addresses, boolean firewall) {
    return chain(addresses, firewall, true, List.of(), Optional.empty());
  }

  /**
   * The same for one of several interfaces.
   *
   * @param outward whether what is in no network of the container is sent here
   * @param fixed addresses to have, at most one of each kind
   * @param mac the one of the interface; any when absent
   */
  List<Json> chain(
      Path addresses,
      boolean firewall,
      boolean outward,
      List<InetAddress> fixed,
      Optional<String> mac) {
    var chain = new ArrayList<Json>();
    var ranges = new ArrayList<List<Map<String, String>>>();
    var routes = new ArrayList<Map<String, String>>();
    ranges.add(GivenAddresses.of(this, fixed.stream().anyMatch(Inet4Address.class::isInstance)));
    routes.add(Map.of("dst", "0.0.0.0/0"));
    dualStack()
        .ifPresent(
            range -> {
              ranges.add(
                  GivenAddresses.ofIpv6(
                      this, range, fixed.stream().anyMatch(Inet6Address.class::isInstance)));
              routes.add(Map.of("dst", "::/0"));
            });
    chain.add(
        Json.object()
            .put("name", name)
            .put("type", "bridge")
            .put("bridge", bridge)
            .put("isGateway", true)
            .put("ipMasq", false)
            // a container that calls its own published port gets the packet back on its own cable
            .put("hairpinMode", true)
            .put(
                "ipam",
                Json.object()
                    .put("type", "host-local")
                    .put("dataDir", addresses.toString())
                    .put("ranges", ranges)
                    .put("routes", outward && !options.internal() ? routes : List.of())
                    .build())
            .putIf("args", arguments(fixed, mac))
            .build());
    if (firewall) {
      chain.add(Json.object().put("name", name).put("type", "firewall").build());
    }
    return List.copyOf(chain);
  }

  private Optional<Map<String, Json>> arguments(List<InetAddress> fixed, Optional<String> mac) {
    List<String> ips =
        fixed.stream()
            .filter(ip -> ip instanceof Inet4Address || dualStack().isPresent())
            .map(IpText::of)
            .toList();
    Json known =
        Json.object()
            .putIf("ips", Optional.of(ips).filter(some -> !some.isEmpty()))
            .putIf("mac", mac)
            .build();
    return known.members().isEmpty() ? Optional.empty() : Optional.of(Map.of("cni", known));
  }
}
