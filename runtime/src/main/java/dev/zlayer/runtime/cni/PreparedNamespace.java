package dev.zlayer.runtime.cni;

import dev.zlayer.container.ContainerDetails.PortBinding;
import dev.zlayer.container.IpText;
import dev.zlayer.container.NetworkSpec.Protocol;
import dev.zlayer.json.Json;
import dev.zlayer.json.StoredFormat;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * A namespace with all that is needed to take it down again, also by an agent that did not make it.
 *
 * @param id names it towards the plugins; belongs to no container
 * @param chain the plugin configurations it was or will be added with; none for loopback only
 * @param result what the plugins answered; null while it is being made
 */
record PreparedNamespace(
    String id,
    Optional<String> network,
    Path netns,
    List<Json> chain,
    Json result,
    List<PortBinding> ports) {
  static final StoredFormat FORMAT = StoredFormat.of("the record of a network namespace");
  private static final String INTERFACE = "eth0";

  PreparedNamespace {
    chain = List.copyOf(chain);
    ports = List.copyOf(ports);
  }

  /** All that can be said of one whose record cannot be read. */
  static PreparedNamespace bare(String id, Path netns) {
    return new PreparedNamespace(
        id, Optional.empty(), netns, List.of(), Json.Null.INSTANCE, List.of());
  }

  PreparedNamespace withResult(Json result) {
    return new PreparedNamespace(id, network, netns, chain, result, ports);
  }

  /** As far as the address itself tells; a second one is added. */
  PreparedNamespace withAddress(String network, String ip) {
    var ips = new ArrayList<>(result.at("ips").items());
    String length = Subnet6.looksLike(ip) ? "/128" : "/32";
    ips.add(Json.object().put("address", ip + length).build());
    Json known = Json.object().put("ips", ips).build();
    return new PreparedNamespace(id, Optional.of(network), netns, chain, known, ports);
  }

  PreparedNamespace withPorts(List<PortBinding> ports) {
    return new PreparedNamespace(id, network, netns, chain, result, ports);
  }

  /** The same namespace with loopback only. */
  PreparedNamespace withoutNetwork() {
    return new PreparedNamespace(id, Optional.empty(), netns, List.of(), Json.Null.INSTANCE, ports);
  }

  /** The interface's own address, as hexadecimal pairs. */
  Optional<String> mac() {
    return result.at("interfaces").items().stream()
        .filter(link -> !link.at("sandbox").string().orElse("").isEmpty())
        .flatMap(link -> link.at("mac").string().stream())
        .findFirst();
  }

  Cni.Target target() {
    return new Cni.Target(id, netns.toString(), INTERFACE);
  }

  Attachment attachment() {
    return new Attachment(netns, ip(), ipv6(), gateway(), ports);
  }

  Optional<InetAddress> ip() {
    return only(addresses(), Inet4Address.class);
  }

  Optional<InetAddress> ipv6() {
    return only(addresses(), Inet6Address.class);
  }

  /** Its address, and the IPv6 one when its network has two stacks. */
  List<InetAddress> addresses() {
    return result.at("ips").items().stream()
        .flatMap(ip -> ip.at("address").string().stream())
        .map(text -> InetAddress.ofLiteral(text.substring(0, text.indexOf('/'))))
        .toList();
  }

  Optional<InetAddress> gateway() {
    return only(gateways(), Inet4Address.class);
  }

  Optional<InetAddress> gatewayIpv6() {
    return only(gateways(), Inet6Address.class);
  }

  private List<InetAddress> gateways() {
    return result.at("ips").items().stream()
        .flatMap(ip -> ip.at("gateway").string().stream())
        .map(InetAddress::ofLiteral)
        .toList();
  }

  private static Optional<InetAddress> only(
      List<InetAddress> addresses, Class<? extends InetAddress> family) {
    return addresses.stream().filter(family::isInstance).findFirst();
  }

  /** The end of the cable on the host's side, which vanishes with the namespace. */
  Optional<String> hostLink() {
    List<String> bridges =
        chain.stream().flatMap(plugin -> plugin.at("bridge").string().stream()).toList();
    return result.at("interfaces").items().stream()
        .filter(link -> link.at("sandbox").string().orElse("").isEmpty())
        .flatMap(link -> link.at("name").string().stream())
        .filter(name -> !bridges.contains(name))
        .findFirst();
  }

  /** What the interface inside may send as; empty when the plugins did not say it all. */
  Optional<Station> station() {
    return mac()
        .filter(mac -> mac.matches(Station.MAC))
        .flatMap(mac -> ip().map(ip -> new Station(ip, ipv6(), mac)));
  }

  Json json() {
    return FORMAT
        .begin()
        .put("id", id)
        .putIf("network", network)
        .put("netns", netns.toString())
        .put("chain", chain)
        .put("result", result)
        .put("ports", ports.stream().map(PreparedNamespace::port).toList())
        .build();
  }

  /**
   * Empty when it is not a record of ours. One of a later version is known by what takes it down.
   */
  static Optional<PreparedNamespace> parse(Json stored, Path file) {
    if (stored.at("id").string().isEmpty() || stored.at("netns").string().isEmpty()) {
      return Optional.empty();
    }
    if (FORMAT.later(stored)) {
      return Optional.of(
          bare(
              stored.at("id").string().orElseThrow(),
              Path.of(stored.at("netns").string().orElseThrow())));
    }
    Json json = FORMAT.upgrade(stored, file);
    return Optional.of(
        new PreparedNamespace(
            json.at("id").string().orElseThrow(),
            json.at("network").string(),
            Path.of(json.at("netns").string().orElseThrow()),
            json.at("chain").items(),
            json.at("result"),
            json.at("ports").items().stream().map(PreparedNamespace::port).toList()));
  }

  private static Json port(PortBinding port) {
    return Json.object()
        .put("hostIp", IpText.of(port.hostIp()))
        .put("hostPort", port.hostPort())
        .put("containerPort", port.containerPort())
        .put("protocol", port.protocol())
        .build();
  }

  private static PortBinding port(Json json) {
    return new PortBinding(
        InetAddress.ofLiteral(json.at("hostIp").string().orElseThrow()),
        json.at("hostPort").integer().orElseThrow().intValue(),
        json.at("containerPort").integer().orElseThrow().intValue(),
        Protocol.valueOf(json.at("protocol").string().orElseThrow().toUpperCase(Locale.ROOT)));
  }
}
