package dev.zlayer.daemon.docker;

import dev.zlayer.container.NetworkSpec;
import dev.zlayer.json.Json;
import dev.zlayer.runtime.cni.ContainerNetworks;
import dev.zlayer.runtime.cni.NamedNetwork;
import dev.zlayer.runtime.cni.Networks;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Where containers are on their networks. */
final class ContainerEndpoints {
  static final String BRIDGE = "bridge";

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
    if (!(facts.details().spec().network().mode() instanceof NetworkSpec.Mode.Shared)) {
      List<ContainerNetworks.Member> members =
          networks
              .map(own -> own.members().memberships(facts.details().id().runtimeName()))
              .orElse(List.of());
      if (members.isEmpty()) {
        all.put(
            facts.network(),
            endpoint(facts, facts.network(), facts.details().ip(), aliases(facts)));
      }
      for (ContainerNetworks.Member member : members) {
        String name = DockerNetworkIndex.shown(member.network());
        all.put(name, endpoint(facts, name, member.ip(), member.aliases()));
      }
    }
    return all;
  }

  private Json endpoint(
      ContainerFacts facts, String network, Optional<InetAddress> address, List<String> aliases) {
    Optional<InetAddress> ip = facts.details().status().alive() ? address : Optional.empty();
    Optional<NamedNetwork> known = known(network);
    var names = new ArrayList<>(List.of(facts.name()));
    names.addAll(aliases);
    names.add(facts.id().substring(0, 12));
    boolean live = ip.isPresent();
    boolean named = !network.equals(BRIDGE) && !network.equals("host") && !network.equals("none");
    return Json.object()
        .put("IPAMConfig", null)
        .put("Links", null)
        .put("Aliases", aliases.isEmpty() ? null : aliases)
        .put("MacAddress", "")
        .put("DriverOpts", null)
        .put("GwPriority", 0)
        .put("NetworkID", networkId(network))
        .put(
            "EndpointID",
            facts.details().status().alive()
                ? DockerContainerIndex.derived(facts.id() + "\0" + network)
                : "")
        .put("Gateway", live ? known.map(found -> found.gateway().getHostAddress()).orElse("") : "")
        .put("IPAddress", ip.map(InetAddress::getHostAddress).orElse(""))
        .put("IPPrefixLen", live ? known.map(found -> found.subnet().prefixLength()).orElse(0) : 0)
        .put("IPv6Gateway", "")
        .put("GlobalIPv6Address", "")
        .put("GlobalIPv6PrefixLen", 0)
        .put("DNSNames", named ? names.stream().distinct().toList() : null)
        .build();
  }

  static List<String> aliases(ContainerFacts facts) {
    String aliases = facts.details().spec().labels().get(DockerCreate.ALIASES);
    return aliases == null ? List.of() : List.of(aliases.split(",", -1));
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
    return networks.map(Networks::networks).orElse(List.of()).stream()
        .map(NamedNetwork::name)
        .filter(
            name ->
                name.equals(reference)
                    || (reference.length() >= 12 && networkId(name).startsWith(reference)))
        .findFirst()
        // not 404, which clients take for an absent image and begin to pull
        .orElseThrow(() -> DockerError.badRequest("network %s not found".formatted(reference)));
  }
}
