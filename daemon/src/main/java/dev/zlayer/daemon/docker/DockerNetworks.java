package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.IpText;
import dev.zlayer.daemon.ResourceEvents;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.port.Connectable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.runtime.cni.ContainerNetworks;
import dev.zlayer.runtime.cni.NamedNetwork;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.cni.Subnet;
import dev.zlayer.runtime.cni.Subnet6;
import java.net.InetAddress;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Networks. */
final class DockerNetworks implements Resource {
  private static final Set<String> FILTERS =
      Set.of("dangling", "driver", "id", "label", "label!", "name", "scope", "type");
  private static final Set<String> PRUNE_FILTERS = Set.of("until", "label", "label!");
  private static final String NEVER = "0001-01-01T00:00:00Z";

  private final ContainerRuntime runtime;
  private final Optional<Networks> networks;
  private final DockerNetworkIndex index;
  private final DockerContainerIndex containers;
  private final ResourceEvents events;
  private final InstantSource clock;

  DockerNetworks(
      ContainerRuntime runtime,
      Optional<Networks> networks,
      ResourceEvents events,
      InstantSource clock) {
    this.runtime = runtime;
    this.networks = networks;
    this.index = new DockerNetworkIndex(networks);
    this.containers = new DockerContainerIndex(runtime);
    this.events = events;
    this.clock = clock;
  }

  @Override
  public String title() {
    return "Networks";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get("/networks", "List networks.", this::list),
        Route.get("/networks/{id}", "Show a network with its containers.", this::inspect),
        Route.post("/networks/create", "Create a network.", this::create),
        Route.post("/networks/{id}/connect", "Connect a container.", this::connect),
        Route.post("/networks/{id}/disconnect", "Disconnect a container.", this::disconnect),
        Route.post("/networks/prune", "Remove networks without containers.", this::prune).freeing(),
        Route.delete("/networks/{id}", "Remove a network without containers.", this::remove)
            .freeing());
  }

  private ApiResponse list(ApiRequest call) {
    DockerFilters filters = DockerQuery.filters(call, FILTERS);
    Optional<Boolean> dangling = filters.flag("dangling");
    return ApiResponse.json(
        Json.of(
            index.all().stream()
                .filter(one -> filters.any("driver", one.driver()::equals))
                .filter(one -> filters.any("id", one.id()::startsWith))
                .filter(one -> filters.any("name", one.name()::contains))
                .filter(one -> filters.any("scope", "local"::equals))
                .filter(one -> filters.any("type", type(one)::equals))
                .filter(one -> filters.labels(labels(one)))
                .filter(
                    one ->
                        dangling
                            .map(wanted -> wanted == (!one.builtIn() && users(one).isEmpty()))
                            .orElse(true))
                .map(one -> wire(one, false))
                .toList()));
  }

  private static String type(DockerNetworkIndex.Found network) {
    return network.builtIn() ? "builtin" : "custom";
  }

  private static Map<String, String> labels(DockerNetworkIndex.Found network) {
    return network.network().map(own -> own.options().labels()).orElse(Map.of());
  }

  private List<String> users(DockerNetworkIndex.Found network) {
    return networks.map(all -> all.users(network.own())).orElse(List.of());
  }

  private ApiResponse inspect(ApiRequest call) {
    return ApiResponse.json(wire(index.require(call.path("id")), true));
  }

  private Json wire(DockerNetworkIndex.Found found, boolean members) {
    Optional<dev.zlayer.runtime.cni.NetworkOptions> options =
        found.network().map(NamedNetwork::options);
    return Json.object()
        .put("Name", found.name())
        .put("Id", found.id())
        .put(
            "Created",
            options
                .flatMap(dev.zlayer.runtime.cni.NetworkOptions::created)
                .map(Instant::toString)
                .orElse(NEVER))
        .put("Scope", "local")
        .put("Driver", found.driver())
        .put("EnableIPv4", true)
        .put("EnableIPv6", found.network().flatMap(NamedNetwork::subnetIpv6).isPresent())
        .put(
            "IPAM",
            Json.object()
                .put("Driver", "default")
                .put("Options", Json.Null.INSTANCE)
                .put("Config", found.network().map(DockerNetworks::ipam).orElse(List.of()))
                .build())
        .put("Internal", options.map(dev.zlayer.runtime.cni.NetworkOptions::internal).orElse(false))
        .put("Attachable", false)
        .put("Ingress", false)
        .put("ConfigFrom", Json.object().put("Network", "").build())
        .put("ConfigOnly", false)
        .put("Containers", members ? members(found) : Json.object().build())
        .put("Options", Json.object().build())
        .put("Labels", labels(found))
        .build();
  }

  private static List<Json> ipam(NamedNetwork network) {
    Json first =
        Json.object()
            .put("Subnet", network.subnet().toString())
            .putIf("IPRange", network.options().range().map(Subnet::toString))
            .put("Gateway", network.gateway().getHostAddress())
            .build();
    return Stream.concat(
            Stream.of(first),
            network.subnetIpv6().stream()
                .map(
                    range ->
                        Json.object()
                            .put("Subnet", range.toString())
                            .put("Gateway", IpText.of(range.gateway()))
                            .build()))
        .toList();
  }

  private Json members(DockerNetworkIndex.Found found) {
    var members = new LinkedHashMap<String, Json>();
    List<String> users = users(found);
    for (Container container : runtime.list()) {
      String own = container.id().runtimeName();
      if (users.contains(own) && container.status().alive()) {
        Optional<ContainerNetworks.Member> member = member(own, found);
        members.put(
            DockerContainerIndex.id(container),
            Json.object()
                .put("Name", ContainerNames.of(container))
                .put("EndpointID", DockerContainerIndex.derived("endpoint\0" + own + found.id()))
                .put("MacAddress", member.flatMap(ContainerNetworks.Member::mac).orElse(""))
                .put(
                    "IPv4Address",
                    member
                        .flatMap(ContainerNetworks.Member::ip)
                        .map(
                            ip ->
                                ip.getHostAddress()
                                    + found
                                        .network()
                                        .map(net -> "/" + net.subnet().prefixLength())
                                        .orElse(""))
                        .orElse(""))
                .put(
                    "IPv6Address",
                    member
                        .flatMap(ContainerNetworks.Member::ipv6)
                        .map(
                            ip ->
                                IpText.of(ip)
                                    + found
                                        .network()
                                        .flatMap(NamedNetwork::subnetIpv6)
                                        .map(net -> "/" + net.prefixLength())
                                        .orElse(""))
                        .orElse(""))
                .build());
      }
    }
    return new Json.Obj(members);
  }

  private Optional<ContainerNetworks.Member> member(
      String container, DockerNetworkIndex.Found network) {
    return networks.map(all -> all.members().memberships(container)).orElse(List.of()).stream()
        .filter(one -> one.network().equals(network.own()))
        .findFirst();
  }

  private ApiResponse create(ApiRequest call) throws InterruptedException {
    Json body = DockerQuery.body(call);
    String name = body.at("Name").string().orElse("");
    if (name.isEmpty()) {
      throw DockerError.badRequest("Name is missing");
    }
    dev.zlayer.runtime.cni.NetworkOptions options = options(body);
    if (index.find(name).filter(found -> found.name().equals(name)).isPresent()) {
      throw DockerError.conflict("network with name %s already exists".formatted(name));
    }
    NamedNetwork made;
    try {
      made = own().create(name, options);
    } catch (AgentException.Conflict _) {
      throw DockerError.conflict("network with name %s already exists".formatted(name));
    }
    DockerNetworkIndex.Found found = DockerNetworkIndex.of(made);
    record("create", found, Map.of());
    return ApiResponse.json(201, Json.object().put("Id", found.id()).put("Warning", "").build());
  }

  private Networks own() {
    return networks.orElseThrow(
        () -> DockerError.notImplemented("this node has no networks of its own"));
  }

  private dev.zlayer.runtime.cni.NetworkOptions options(Json body) {
    String driver = body.at("Driver").string().filter(text -> !text.isEmpty()).orElse("bridge");
    if (!driver.equals("bridge")) {
      throw DockerError.notFound(
          "plugin \"%s\" not found: every network is a bridge".formatted(driver));
    }
    for (String flag : List.of("Ingress", "ConfigOnly")) {
      if (body.at(flag).bool().orElse(false)) {
        throw DockerError.unsupportedField(flag, "networks are bridges of this node");
      }
    }
    if (body.at("ConfigFrom").at("Network").string().filter(text -> !text.isEmpty()).isPresent()) {
      throw DockerError.unsupportedField("ConfigFrom", "networks are bridges of this node");
    }
    if (body.at("EnableIPv4").bool().filter(wanted -> !wanted).isPresent()) {
      throw DockerError.unsupportedField("EnableIPv4", "every network has IPv4 addresses");
    }
    body.at("Options")
        .members()
        .keySet()
        .forEach(
            key -> {
              throw DockerError.unsupportedField("Options." + key, "bridges have no options");
            });
    Json ipam = body.at("IPAM");
    String kind = ipam.at("Driver").string().filter(text -> !text.isEmpty()).orElse("default");
    if (!kind.equals("default")) {
      throw DockerError.unsupportedField("IPAM.Driver", "only 'default' is there");
    }
    List<Json> all = ipam.at("Config").items();
    List<Json> second =
        all.stream()
            .filter(one -> text(one, "Subnet").filter(Subnet6::looksLike).isPresent())
            .toList();
    List<Json> configs = all.stream().filter(one -> !second.contains(one)).toList();
    if (configs.size() > 1 || second.size() > 1) {
      throw DockerError.unsupportedField(
          "IPAM.Config", "a network has one range of IPv4 and one of IPv6 addresses");
    }
    for (Json one : all) {
      if (!one.at("AuxiliaryAddresses").members().isEmpty()) {
        throw DockerError.unsupportedField("IPAM.Config.AuxiliaryAddresses", "use IPRange instead");
      }
    }
    for (String member : List.of("Gateway", "IPRange")) {
      if (second.stream().anyMatch(one -> text(one, member).isPresent())) {
        throw DockerError.unsupportedField(
            "IPAM.Config." + member,
            "the IPv6 subnet is used as a whole, its first address is ours");
      }
    }
    Json config = configs.isEmpty() ? Json.object().build() : configs.getFirst();
    return new dev.zlayer.runtime.cni.NetworkOptions(
        text(config, "Subnet").map(Subnet::parse),
        text(config, "Gateway").map(DockerNetworks::address),
        text(config, "IPRange").map(Subnet::parse),
        body.at("EnableIPv6").bool().orElse(false),
        second.stream()
            .flatMap(one -> text(one, "Subnet").stream())
            .findFirst()
            .map(Subnet6::parse),
        body.at("Internal").bool().orElse(false),
        body.at("Labels").stringMap(),
        Optional.of(clock.instant()));
  }

  private static Optional<String> text(Json json, String name) {
    return json.at(name).string().filter(value -> !value.isEmpty());
  }

  private static InetAddress address(String text) {
    try {
      return InetAddress.ofLiteral(text);
    } catch (IllegalArgumentException _) {
      throw DockerError.badRequest("invalid IP address: " + text);
    }
  }

  private ApiResponse connect(ApiRequest call) throws InterruptedException {
    DockerNetworkIndex.Found network = usable(call, "connect container to");
    Json body = DockerQuery.body(call);
    Container container = movable(body);
    Json endpoint = body.at("EndpointConfig");
    connectable(container)
        .connect(
            network.own(),
            endpoint.at("Aliases").strings(),
            text(endpoint.at("IPAMConfig"), "IPv4Address").map(DockerNetworks::address));
    record("connect", network, Map.of("container", DockerContainerIndex.id(container)));
    return new ApiResponse.Whole(200, "", new byte[0], Map.of());
  }

  private ApiResponse disconnect(ApiRequest call) throws InterruptedException {
    DockerNetworkIndex.Found network = usable(call, "disconnect container from");
    Container container = movable(DockerQuery.body(call));
    try {
      connectable(container).disconnect(network.own());
    } catch (AgentException.NotFound _) {
      throw DockerError.failed(
          "container %s is not connected to network %s"
              .formatted(DockerContainerIndex.id(container), network.name()));
    }
    record("disconnect", network, Map.of("container", DockerContainerIndex.id(container)));
    return new ApiResponse.Whole(200, "", new byte[0], Map.of());
  }

  private static Connectable connectable(Container container) {
    if (container instanceof Connectable connectable) {
      return connectable;
    }
    throw DockerError.notImplemented(
        "container %s: its runtime has no networks".formatted(ContainerNames.of(container)));
  }

  private DockerNetworkIndex.Found usable(ApiRequest call, String what)
      throws InterruptedException {
    DockerNetworkIndex.Found network = index.require(call.path("id"));
    if (network.driver().equals(DockerNetworkIndex.HOST) || network.driver().equals("null")) {
      throw DockerError.forbidden("cannot %s %s network".formatted(what, network.name()));
    }
    if (network.network().isEmpty()) {
      own().network(NamedNetwork.DEFAULT);
    }
    return network;
  }

  private Container movable(Json body) {
    Container container = containers.find(body.at("Container").string().orElse(""));
    if (!container.id().deployment().equals(ContainerId.STANDALONE)) {
      throw DockerError.forbidden(
          "container %s belongs to deployment %s, whose file says which network it is on"
              .formatted(ContainerNames.of(container), container.id().deployment()));
    }
    return container;
  }

  private ApiResponse remove(ApiRequest call) throws InterruptedException {
    DockerNetworkIndex.Found network = index.require(call.path("id"));
    if (network.builtIn()) {
      throw DockerError.forbidden(
          "%s is a pre-defined network and cannot be removed".formatted(network.name()));
    }
    try {
      own().removeNetwork(network.own());
    } catch (AgentException.Conflict e) {
      throw DockerError.forbidden(
          "error while removing network: network %s id %s has active endpoints: %s"
              .formatted(network.name(), network.id(), e.getMessage()));
    }
    record("destroy", network, Map.of());
    return ApiResponse.done();
  }

  private ApiResponse prune(ApiRequest call) throws InterruptedException {
    DockerFilters filters = DockerQuery.filters(call, PRUNE_FILTERS);
    Optional<Instant> until =
        filters.get("until").stream()
            .findFirst()
            .map(text -> DockerTimes.before(text, clock.instant()));
    var deleted = new ArrayList<String>();
    for (DockerNetworkIndex.Found network : index.all()) {
      Instant created =
          network.network().flatMap(one -> one.options().created()).orElse(Instant.EPOCH);
      boolean ofDeployment = network.name().startsWith("d_");
      if (!network.builtIn()
          && !ofDeployment
          && users(network).isEmpty()
          && filters.labels(labels(network))
          && until.map(created::isBefore).orElse(true)) {
        try {
          own().removeNetwork(network.own());
          deleted.add(network.name());
          record("destroy", network, Map.of());
        } catch (AgentException.Conflict | AgentException.NotFound _) {
          // used or removed meanwhile
        }
      }
    }
    events.record("network", "prune", "", Map.of("reclaimed", "0"));
    return ApiResponse.json(
        Json.object()
            .put("NetworksDeleted", deleted.isEmpty() ? Json.Null.INSTANCE : Json.of(deleted))
            .build());
  }

  private void record(String action, DockerNetworkIndex.Found network, Map<String, String> more) {
    var attributes = new LinkedHashMap<String, String>();
    attributes.put("name", network.name());
    attributes.put("type", network.driver());
    attributes.putAll(more);
    events.record("network", action, network.id(), attributes);
  }
}
