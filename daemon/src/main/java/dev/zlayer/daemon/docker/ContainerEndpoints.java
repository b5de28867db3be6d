package dev.zlayer.daemon.docker;

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
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Where containers are on their networks, and how they get there. */
final class ContainerEndpoints {
  static final String BRIDGE = "bridge";

  /** Networks that are always there and have no addresses of the agent's own. */
  private static final Set<String> BARE = Set.of("host", "none");

  private final Optional<Networks> networks;

  ContainerEndpoints(Optional<Networks> networks) {
    this.networks = networks;
  }

  /** The id of a network; that of a name stays the same. */
  static String networkId(String name) {
    return DockerContainerIndex.derived("network\0" + name);
  }

  /** Under the names that Docker has for them. */
  Map<String, Json> networks(ContainerFacts facts) {
    var all = new LinkedHashMap<String, Json>();
    if (facts.details().spec().network().mode() instanceof NetworkSpec.Mode.Shared) {
      return all;
    }
    List<ContainerNetworks.Member> members =
        networks
            .map(own -> own.members().memberships(facts.details().id().runtimeName()))
            .orElse(List.of());
    for (ContainerNetworks.Member member : members) {
      String name = member.network().equals(NamedNetwork.DEFAULT) ? BRIDGE : member.network();
      all.put(name, endpoint(facts, name, Optional.of(member)));
    }
    if (members.isEmpty()) {
      all.put(facts.network(), endpoint(facts, facts.network(), Optional.empty()));
    }
    return all;
  }

  private Json endpoint(
      ContainerFacts facts, String network, Optional<ContainerNetworks.Member> member) {
    boolean alive = facts.details().status().alive();
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
    int prefix = known(network).map(found -> found.subnet().prefixLength()).orElse(0);
    int prefix6 =
        known(network).flatMap(NamedNetwork::subnetIpv6).map(Subnet6::prefixLength).orElse(0);
    return Json.object()
        .put("IPAMConfig", asked(facts, network).at("IPAMConfig"))
        .put("Links", null)
        .put("Aliases", aliases.isEmpty() ? null : aliases)
        .put("MacAddress", live.flatMap(ContainerNetworks.Member::mac).orElse(""))
        .put("DriverOpts", null)
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

  private static Json asked(ContainerFacts facts, String network) {
    return facts.request().at("NetworkingConfig").at("EndpointsConfig").at(network);
  }

  private Optional<NamedNetwork> known(String network) {
    String own = network.equals(BRIDGE) ? NamedNetwork.DEFAULT : network;
    return networks.map(Networks::networks).orElse(List.of()).stream()
        .filter(one -> one.name().equals(own))
        .findFirst();
  }

  /**
   * The name of a network that somebody named by name or id.
   *
   * @throws DockerError there is none
   */
  String require(String reference) {
    if (reference.equals(BRIDGE) || reference.equals("default")) {
      return NamedNetwork.DEFAULT;
    }
    return networks.map(Networks::networks).orElse(List.of()).stream()
        .map(NamedNetwork::name)
        .filter(
            name ->
                name.equals(reference)
                    || (reference.length() >= DockerContainerIndex.SHORT
                        && networkId(name).startsWith(reference)))
        .findFirst()
        // not 404, which clients take for an absent image and begin to pull
        .orElseThrow(() -> DockerError.badRequest("network %s not found".formatted(reference)));
  }

  /** Puts a new container on all networks that its request names, with its names there. */
  void join(Container container, Json.Obj body, String id) throws InterruptedException {
    if (!(container.spec().network().mode() instanceof NetworkSpec.Mode.Bridge(var first))
        || networks.isEmpty()) {
      return;
    }
    String shortId = id.substring(0, DockerContainerIndex.SHORT);
    String usual = first.orElse(NamedNetwork.DEFAULT);
    boolean named = first.isPresent();
    for (var endpoint : NetworkOptions.endpoints(body).entrySet()) {
      String network = require(endpoint.getKey());
      Json settings = endpoint.getValue();
      var aliases = new ArrayList<>(settings.at("Aliases").strings());
      if (!aliases.isEmpty() && network.equals(NamedNetwork.DEFAULT)) {
        throw DockerError.badRequest(
            "network-scoped alias is supported only for containers in user defined networks");
      }
      aliases.add(shortId);
      Optional<InetAddress> address =
          settings
              .at("IPAMConfig")
              .at("IPv4Address")
              .string()
              .filter(text -> !text.isEmpty())
              .map(NetworkOptions::address);
      if (!network.equals(usual)) {
        connectable(container).connect(network, aliases, address);
      } else if (address.isPresent()) {
        connectable(container).disconnect(network); // it has some address there already
        connectable(container).connect(network, aliases, address);
        named = false;
      } else {
        networks.get().members().alias(container.id().runtimeName(), aliases);
        named = false;
      }
    }
    if (named) {
      networks.get().members().alias(container.id().runtimeName(), List.of(shortId));
    }
  }

  private static Connectable connectable(Container container) {
    if (container instanceof Connectable connectable) {
      return connectable;
    }
    throw DockerError.unsupportedField(
        "NetworkingConfig", "containers of this runtime have one network");
  }
}
