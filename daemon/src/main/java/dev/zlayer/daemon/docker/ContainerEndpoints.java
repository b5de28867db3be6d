package dev.zlayer.daemon.docker;

import dev.zlayer.container.ConnectionSpec;
import dev.zlayer.container.IpText;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.json.Json;
import dev.zlayer.port.Connectable;
import dev.zlayer.port.Container;
import dev.zlayer.runtime.cni.ContainerNetworks;
import dev.zlayer.runtime.cni.NamedNetwork;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.cni.Subnet6;
import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Where containers are on their networks, and how they get there. */
final class ContainerEndpoints {
  static final String BRIDGE = "bridge";

  /** Every line of a listing has it. */
  private static final String BRIDGE_ID = derivedId(BRIDGE);

  /** Networks that are always there and have no addresses of the agent's own. */
  private static final Set<String> BARE = Set.of("host", "none");

  private final Optional<Networks> networks;
  private final DockerContainerIndex index;

  ContainerEndpoints(Optional<Networks> networks, DockerContainerIndex index) {
    this.networks = networks;
    this.index = index;
  }

  /** The id of a network; that of a name stays the same. */
  static String networkId(String name) {
    return name.equals(BRIDGE) ? BRIDGE_ID : derivedId(name);
  }

  private static String derivedId(String name) {
    return DockerContainerIndex.derived("network\0" + name);
  }

  /** Under the names that Docker has for them. */
  Map<String, Json> networks(ContainerFacts facts) {
    var all = new LinkedHashMap<String, Json>();
    if (facts.details().spec().network().mode() instanceof NetworkSpec.Mode.Shared) {
      return all;
    }
    List<ContainerNetworks.Member> members = members(facts);
    for (ContainerNetworks.Member member : members) {
      String name = member.network().equals(NamedNetwork.DEFAULT) ? BRIDGE : member.network();
      all.put(name, endpoint(facts, name, Optional.of(member)));
    }
    if (members.isEmpty()) {
      all.put(facts.network(), endpoint(facts, facts.network(), Optional.empty()));
    }
    return all;
  }

  /** The networks that it is on. */
  List<ContainerNetworks.Member> members(ContainerFacts facts) {
    return networks
        .map(own -> own.members().memberships(facts.details().id().runtimeName()))
        .orElse(List.of());
  }

  private Json endpoint(
      ContainerFacts facts, String network, Optional<ContainerNetworks.Member> member) {
    boolean alive = facts.details().status().alive();
    ConnectionSpec asked = member.map(ContainerNetworks.Member::asked).orElse(ConnectionSpec.NONE);
    Optional<ContainerNetworks.Member> live = member.filter(_ -> alive);
    String shortId = facts.id().substring(0, DockerContainerIndex.SHORT);
    List<String> aliases =
        member.stream()
            .flatMap(one -> one.aliases().stream())
            .filter(alias -> !alias.equals(shortId))
            .toList();
    List<String> names =
        Stream.concat(Stream.concat(Stream.of(facts.name()), aliases.stream()), Stream.of(shortId))
            .distinct()
            .toList();
    boolean named = !network.equals(BRIDGE) && !BARE.contains(network);
    Optional<NamedNetwork> known = known(network);
    int prefix = known.map(found -> found.subnet().prefixLength()).orElse(0);
    int prefix6 = known.flatMap(NamedNetwork::subnetIpv6).map(Subnet6::prefixLength).orElse(0);
    return Json.object()
        .put("IPAMConfig", ipam(facts, network, asked))
        .put("Links", EndpointOptions.links(asked))
        .put("Aliases", aliases.isEmpty() ? null : aliases)
        .put("MacAddress", live.flatMap(ContainerNetworks.Member::mac).or(asked::mac).orElse(""))
        .put("DriverOpts", asked.options().isEmpty() ? null : asked.options())
        .put("GwPriority", 0)
        .put("NetworkID", networkId(network))
        .put("EndpointID", alive ? DockerContainerIndex.derived(facts.id() + "\0" + network) : "")
        .put("Gateway", text(live.flatMap(ContainerNetworks.Member::gateway)))
        .put("IPAddress", text(live.flatMap(ContainerNetworks.Member::ip)))
        .put("IPPrefixLen", live.isPresent() ? prefix : 0)
        .put("IPv6Gateway", text(live.flatMap(ContainerNetworks.Member::gatewayIpv6)))
        .put("GlobalIPv6Address", text(live.flatMap(ContainerNetworks.Member::ipv6)))
        .put(
            "GlobalIPv6PrefixLen",
            live.flatMap(ContainerNetworks.Member::ipv6).isPresent() ? prefix6 : 0)
        .put("DNSNames", named ? names : null)
        .build();
  }

  private static String text(Optional<InetAddress> address) {
    return address.map(IpText::of).orElse("");
  }

  /** An empty one is shown as it was given. */
  private static Json ipam(ContainerFacts facts, String network, ConnectionSpec asked) {
    Json given =
        facts.request().at("NetworkingConfig").at("EndpointsConfig").at(network).at("IPAMConfig");
    return asked.addresses().isEmpty() && CreateFields.zero(given)
        ? given
        : EndpointOptions.ipam(asked);
  }

  /** The address that a container has on the usual network; empty when it is not on it. */
  String address(ContainerFacts facts) {
    return text(
        members(facts).stream()
            .filter(member -> member.network().equals(NamedNetwork.DEFAULT))
            .findFirst()
            .flatMap(ContainerNetworks.Member::ip));
  }

  private Optional<NamedNetwork> known(String network) {
    String own = network.equals(BRIDGE) ? NamedNetwork.DEFAULT : network;
    return networks.flatMap(present -> present.members().network(own));
  }

  /**
   * The name of a network to be on, that somebody named by name or id.
   *
   * @throws DockerError there is none, or it is closed to this socket
   */
  String require(String reference) {
    if (reference.equals(BRIDGE) || reference.equals("default")) {
      return NamedNetwork.DEFAULT;
    }
    String network =
        networks.map(Networks::networks).orElse(List.of()).stream()
            .map(NamedNetwork::name)
            .filter(
                name ->
                    name.equals(reference)
                        || (reference.length() >= DockerContainerIndex.SHORT
                            && networkId(name).startsWith(reference)))
            .findFirst()
            // not 404, which clients take for an absent image and begin to pull
            .orElseThrow(() -> DockerError.badRequest("network %s not found".formatted(reference)));
    requireOpen(network);
    return network;
  }

  private void requireOpen(String network) {
    index.requireNetwork(network, networks.map(own -> own.users(network)).orElse(List.of()));
  }

  /** Puts a new container on all networks that its request names, with its names there. */
  void join(Container container, Json.Obj body, String id) throws InterruptedException {
    if (!(container.spec().network().mode() instanceof NetworkSpec.Mode.Bridge(var first))
        || networks.isEmpty()) {
      return;
    }
    String usual = first.orElse(NamedNetwork.DEFAULT);
    Map<String, ConnectionSpec> wanted = wanted(body, usual, first.isPresent());
    for (var endpoint : wanted.entrySet()) {
      String network = endpoint.getKey();
      boolean named = !network.equals(NamedNetwork.DEFAULT);
      requireSupported(endpoint.getValue(), named);
      ConnectionSpec spec =
          endpoint.getValue().withAlias(id.substring(0, DockerContainerIndex.SHORT));
      if (!network.equals(usual)) {
        connectable(container).connect(network, spec);
      } else if (spec.onlyAliases()) {
        networks.get().members().alias(container.id().runtimeName(), spec.aliases());
      } else {
        connectable(container).disconnect(network); // it is there already, as any other
        connectable(container).connect(network, spec);
      }
    }
  }

  /** On the first network a container may have what its request says elsewhere. */
  private Map<String, ConnectionSpec> wanted(Json.Obj body, String usual, boolean named) {
    var wanted = new LinkedHashMap<String, ConnectionSpec>();
    ConnectOptions.endpoints(body).forEach((name, spec) -> wanted.put(require(name), spec));
    Optional<String> mac = EndpointOptions.mac(body);
    List<ConnectionSpec.Link> links = named ? ContainerLinks.asked(body) : List.of();
    if (mac.isEmpty() && !named) {
      return wanted;
    }
    ConnectionSpec spec = wanted.getOrDefault(usual, ConnectionSpec.NONE);
    if (mac.isPresent() && spec.mac().isPresent() && !spec.mac().equals(mac)) {
      throw DockerError.badRequest(
          "the container-wide MAC address must match the endpoint-specific MAC address for the"
              + " main network, or be left empty");
    }
    wanted.put(
        usual,
        spec.withMac(spec.mac().or(() -> mac))
            .withLinks(Stream.concat(spec.links().stream(), links.stream()).distinct().toList()));
    return wanted;
  }

  /** The usual network has no name server. */
  private static void requireSupported(ConnectionSpec spec, boolean named) {
    if (!named && !spec.aliases().isEmpty()) {
      throw DockerError.badRequest(
          "network-scoped alias is supported only for containers in user defined networks");
    }
    if (!named && !spec.links().isEmpty()) {
      throw DockerError.badRequest(
          "EndpointConfig.Links is not supported on network bridge: use HostConfig.Links");
    }
    if (!named && !spec.addresses().isEmpty()) {
      throw DockerError.badRequest(
          "user specified IP address is supported on user defined networks only");
    }
  }

  /** Connects a container that exists. */
  void connect(Container container, String network, ConnectionSpec spec)
      throws InterruptedException {
    requireOpen(network);
    requireSupported(spec, !network.equals(NamedNetwork.DEFAULT));
    connectable(container).connect(network, spec);
  }

  private static Connectable connectable(Container container) {
    if (container instanceof Connectable connectable) {
      return connectable;
    }
    throw DockerError.unsupportedField(
        "NetworkingConfig", "containers of this runtime have one network");
  }
}
