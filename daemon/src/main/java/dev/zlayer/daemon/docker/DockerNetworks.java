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
import dev.zlayer.runtime.cni.DeploymentBridges;
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
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Networks. */
final class DockerNetworks implements Resource {
  private static final Set<String> FILTERS =
      Set.of("dangling", "driver", "id", "label", "label!", "name", "scope", "type");
  private static final Set<String> PRUNE_FILTERS = Set.of("until", "label", "label!");

  /** Drivers that Docker has and the agent has not. */
  private static final Set<String> DRIVERS = Set.of("ipvlan", "macvlan", "overlay");

  /** Marks a network that its maker called attachable, which all are. */
  private static final String ATTACHABLE = DockerCreate.OWN + "attachable";

  private final ContainerRuntime runtime;
  private final Optional<Networks> networks;
  private final DockerNetworkIndex index;
  private final DockerContainerIndex containers;
  private final ContainerEndpoints endpoints;
  private final ResourceEvents events;
  private final InstantSource clock;

  /** When the networks that are always there began, as in dockerd. */
  private final Instant opened;

  DockerNetworks(
      ContainerRuntime runtime,
      DockerContainerIndex containers,
      Optional<Networks> networks,
      ResourceEvents events,
      InstantSource clock) {
    this.runtime = runtime;
    this.networks = networks;
    this.index = new DockerNetworkIndex(networks);
    this.containers = containers;
    this.endpoints = new ContainerEndpoints(networks, containers);
    this.events = events;
    this.clock = clock;
    this.opened = clock.instant();
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

  private static Map<String, String> recorded(DockerNetworkIndex.Found network) {
    return network.network().map(own -> own.options().labels()).orElse(Map.of());
  }

  private static Map<String, String> labels(DockerNetworkIndex.Found network) {
    var labels = new LinkedHashMap<>(recorded(network));
    labels.keySet().removeIf(name -> name.startsWith(DockerCreate.OWN));
    return labels;
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
                .orElse(opened)
                .toString())
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
        .put("Attachable", recorded(found).containsKey(ATTACHABLE))
        .put("Ingress", false)
        .put("ConfigFrom", Json.object().put("Network", "").build())
        .put("ConfigOnly", false)
        .put("Containers", members ? members(found) : Json.object().build())
        .put("Options", Json.object().build())
        .put("Labels", labels(found))
        .build();
  }

  private static List<Json> ipam(NamedNetwork network) {
    var ipam = new ArrayList<Json>();
    ipam.add(
        ipam(
            network,
            network.subnet().toString(),
            network.options().range().map(Subnet::toString),
            Optional.of(network.gateway()),
            network.subnet()::contains));
    network
        .subnetIpv6()
        .ifPresent(
            range ->
                ipam.add(
                    ipam(
                        network,
                        range.toString(),
                        network.options().rangeIpv6().map(Subnet6::toString),
                        network.gatewayIpv6(),
                        range::contains)));
    return ipam;
  }

  private static Json ipam(
      NamedNetwork network,
      String subnet,
      Optional<String> part,
      Optional<InetAddress> gateway,
      Predicate<InetAddress> inside) {
    var reserved = new TreeMap<String, String>();
    network
        .options()
        .reserved()
        .forEach(
            (use, address) -> {
              if (inside.test(address)) {
                reserved.put(use, IpText.of(address));
              }
            });
    return Json.object()
        .put("Subnet", subnet)
        .putIf("IPRange", part)
        .putIf("Gateway", gateway.map(IpText::of))
        .putIf("AuxiliaryAddresses", Optional.of(reserved).filter(some -> !some.isEmpty()))
        .build();
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
                .put("EndpointID", endpoint(own, found))
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
    Json body = RequestFields.body("POST /networks/create", call);
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
      String reason = DRIVERS.contains(driver) ? ": every network is a bridge" : "";
      throw DockerError.notFound("plugin \"%s\" not found%s".formatted(driver, reason));
    }
    if (body.at("EnableIPv4").bool().filter(wanted -> !wanted).isPresent()) {
      throw DockerError.unsupportedField("EnableIPv4", "every network has IPv4 addresses");
    }
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
    Json ipv6 = second.isEmpty() ? Json.object().build() : second.getFirst();
    var reserved = new LinkedHashMap<String, InetAddress>();
    for (Json one : all) {
      one.at("AuxiliaryAddresses")
          .stringMap()
          .forEach((use, text) -> reserved.put(use, address(text)));
    }
    Json config = configs.isEmpty() ? Json.object().build() : configs.getFirst();
    return new dev.zlayer.runtime.cni.NetworkOptions(
        text(config, "Subnet").map(Subnet::parse),
        text(config, "Gateway").map(DockerNetworks::address),
        text(config, "IPRange").map(Subnet::parse),
        body.at("EnableIPv6").bool().orElse(false),
        text(ipv6, "Subnet").map(Subnet6::parse),
        body.at("Internal").bool().orElse(false),
        labels(body),
        Optional.of(clock.instant()),
        text(ipv6, "Gateway").map(DockerNetworks::address),
        text(ipv6, "IPRange").map(Subnet6::parse),
        reserved);
  }

  private static Map<String, String> labels(Json body) {
    var labels = new LinkedHashMap<>(body.at("Labels").stringMap());
    for (String name : labels.keySet()) {
      if (name.startsWith(DockerCreate.OWN)) {
        throw DockerError.badRequest(
            "label '%s': names that begin with '%s' are the agent's own"
                .formatted(name, DockerCreate.OWN));
      }
    }
    if (body.at("Attachable").bool().orElse(false)) {
      labels.put(ATTACHABLE, "true");
    }
    return labels;
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
    Json body = RequestFields.body("POST /networks/{id}/connect", call);
    Container container = movable(body);
    Json endpoint = body.at("EndpointConfig");
    endpoints.connect(container, network.own(), EndpointOptions.of(endpoint, "EndpointConfig."));
    record("connect", network, Map.of("container", DockerContainerIndex.id(container)));
    return new ApiResponse.Whole(200, "", new byte[0], Map.of());
  }

  private ApiResponse disconnect(ApiRequest call) throws InterruptedException {
    DockerNetworkIndex.Found network = usable(call, "disconnect container from");
    Container container = movable(RequestFields.body("POST /networks/{id}/disconnect", call));
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
    } catch (AgentException.Conflict _) {
      throw DockerError.forbidden(
          "error while removing network: network %s has active endpoints (%s)"
              .formatted(network.name(), active(network)));
    }
    record("destroy", network, Map.of());
    return ApiResponse.done();
  }

  private String active(DockerNetworkIndex.Found network) {
    List<String> users = users(network);
    return containers.list().stream()
        .filter(container -> users.contains(container.id().runtimeName()))
        .map(
            container ->
                "name:\"%s\" id:\"%s\""
                    .formatted(
                        ContainerNames.of(container),
                        endpoint(container.id().runtimeName(), network)
                            .substring(0, DockerContainerIndex.SHORT)))
        .collect(Collectors.joining(", "));
  }

  private static String endpoint(String container, DockerNetworkIndex.Found network) {
    return DockerContainerIndex.derived("endpoint\0" + container + network.id());
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
      boolean ofDeployment = DeploymentBridges.owns(network.name());
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
