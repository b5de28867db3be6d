package dev.zlayer.daemon.rest;

import dev.zlayer.container.ConnectionSpec;
import dev.zlayer.container.ContainerId;
import dev.zlayer.daemon.ResourceEvents;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.standalone.DisplayName;
import dev.zlayer.engine.volume.VolumeInfo;
import dev.zlayer.engine.volume.VolumeStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Connectable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.runtime.cni.ContainerNetworks;
import dev.zlayer.runtime.cni.NamedNetwork;
import dev.zlayer.runtime.cni.NetworkOptions;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.cni.Subnet;
import dev.zlayer.runtime.cni.Subnet6;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Volumes and networks. */
public final class StorageResource implements Resource {
  private final VolumeStore volumes;
  private final Optional<Networks> networks;
  private final ContainerRuntime runtime;
  private final ResourceEvents events;
  private final InstantSource clock;

  /**
   * A volume.
   *
   * @param size bytes, when it was asked for; at least so many unless complete
   */
  record VolumeView(
      String name,
      String driver,
      Path path,
      Instant created,
      List<String> usedBy,
      List<String> deployments,
      Optional<Long> size,
      Optional<Long> files,
      Optional<Boolean> complete) {
    static VolumeView of(VolumeInfo info) {
      return new VolumeView(
          info.name(),
          info.driver(),
          info.path(),
          info.createdAt(),
          info.usedBy(),
          info.deployments(),
          info.size().map(VolumeInfo.Size::bytes),
          info.size().map(VolumeInfo.Size::files),
          info.size().map(VolumeInfo.Size::complete));
    }
  }

  /** A network. */
  record NetworkView(
      String name,
      String bridge,
      String subnet,
      InetAddress gateway,
      Optional<String> subnetIpv6,
      Optional<InetAddress> gatewayIpv6,
      boolean internal,
      List<String> containers) {}

  /** A network with those on it. */
  record NetworkDetails(
      String name,
      String bridge,
      String subnet,
      InetAddress gateway,
      Optional<String> subnetIpv6,
      Optional<InetAddress> gatewayIpv6,
      boolean internal,
      List<Member> containers) {}

  /** A container on a network. */
  record Member(
      String id,
      String name,
      Optional<InetAddress> ip,
      Optional<InetAddress> ipv6,
      List<String> aliases) {}

  @Doc("A volume.")
  public record CreateVolume(@Doc("Its name.") String name) {}

  @Doc("A network.")
  public record CreateNetwork(
      @Doc("1 to 64 letters, digits, '-', '_' or '.'.") String name,
      @Doc("IPv4 network such as 10.1.0.0/24; an unused one when absent.") Optional<String> subnet,
      @Doc("This host's address in it; the first one when absent.") Optional<String> gateway,
      @Doc("The part of the subnet that addresses are given from.") Optional<String> ipRange,
      @Doc("Containers on it get IPv6 addresses, too.") @Default("false") boolean ipv6,
      @Doc("IPv6 network such as fd12:3456:789a:1::/64; an unused one when absent.")
          Optional<String> subnetIpv6,
      @Doc("Containers on it get no way out.") @Default("false") boolean internal,
      @Doc("Labels.") Map<String, String> labels) {
    NetworkOptions options(Instant now) {
      return new NetworkOptions(
          subnet.map(Subnet::parse),
          gateway.map(text -> address("gateway", text)),
          ipRange.map(Subnet::parse),
          ipv6,
          subnetIpv6.map(Subnet6::parse),
          internal,
          labels,
          Optional.of(now));
    }
  }

  @Doc("How a container is connected.")
  public record Connect(
      @Doc("Further names of the container on this network.") List<String> aliases,
      @Doc("A fixed address; a free one when absent.") Optional<String> ip) {}

  private static InetAddress address(String what, String text) {
    try {
      return InetAddress.ofLiteral(text);
    } catch (IllegalArgumentException e) {
      throw new AgentException.InvalidSpec("%s '%s' is not an address".formatted(what, text), e);
    }
  }

  public StorageResource(
      VolumeStore volumes,
      Optional<Networks> networks,
      ContainerRuntime runtime,
      ResourceEvents events,
      InstantSource clock) {
    this.events = events;
    this.clock = clock;
    this.volumes = volumes;
    this.networks = networks;
    this.runtime = runtime;
  }

  @Override
  public String title() {
    return "Volumes and networks";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view("/volumes", "List volumes.", this::list)
            .withFlag("size", "Include sizes, as far as they can be computed in a few seconds.")
            .givesMany(VolumeView.class),
        Route.post("/volumes", "Create a volume; no effect if it exists.", this::createVolume)
            .takes(CreateVolume.class)
            .creates(VolumeView.class),
        Route.view("/volumes/{name}", "Show a volume with its size.", this::inspect)
            .gives(VolumeView.class),
        Route.delete("/volumes/{name}", "Remove a volume that no container mounts.", this::remove)
            .freeing()
            .givesNothing(),
        Route.post("/volumes/prune", "Remove unused volumes.", _ -> list(volumes.prune()))
            .freeing()
            .givesMany(VolumeView.class),
        Route.view("/networks", "List networks.", _ -> networks()).givesMany(NetworkView.class),
        Route.post("/networks", "Create a network.", this::createNetwork)
            .takes(CreateNetwork.class)
            .creates(NetworkView.class),
        Route.view("/networks/{name}", "Show a network with its containers.", this::network)
            .gives(NetworkDetails.class),
        Route.post(
                "/networks/{name}/connect",
                "Connect a container, running or not, to one more network.",
                this::connect)
            .withRequired("container", "The container.")
            .takes(Connect.class)
            .givesNothing(),
        Route.post(
                "/networks/{name}/disconnect",
                "Disconnect a container from a network.",
                this::disconnect)
            .withRequired("container", "The container.")
            .givesNothing(),
        Route.delete(
                "/networks/{name}", "Remove a network without containers.", this::removeNetwork)
            .freeing()
            .givesNothing());
  }

  private ApiResponse list(ApiRequest call) {
    return list(call.flag("size", false) ? volumes.listWithSizes() : volumes.list());
  }

  private static ApiResponse list(List<VolumeInfo> volumes) {
    return ApiResponse.json(ViewJson.of(volumes.stream().map(VolumeView::of).toList()));
  }

  private ApiResponse inspect(ApiRequest call) {
    return ApiResponse.json(ViewJson.of(VolumeView.of(volumes.inspect(call.path("name")))));
  }

  private ApiResponse createVolume(ApiRequest call) {
    String name = call.body(CreateVolume.class).name();
    VolumeInfo made = volumes.create(name);
    events.record("volume", "create", name, Map.of("driver", made.driver()));
    return ApiResponse.json(201, ViewJson.of(VolumeView.of(made)));
  }

  private ApiResponse createNetwork(ApiRequest call) throws InterruptedException {
    CreateNetwork wanted = call.body(CreateNetwork.class);
    String name = wanted.name();
    Networks all =
        networks.orElseThrow(
            () ->
                new AgentException.Unsupported(
                    "network '%s': this node has no networks of its own".formatted(name)));
    NamedNetwork made = all.create(name, wanted.options(clock.instant()));
    events.network("create", name, Map.of());
    return ApiResponse.json(201, ViewJson.of(view(all, made)));
  }

  private ApiResponse network(ApiRequest call) {
    NetworkView found = found(call.path("name"));
    List<Member> members =
        found.containers().stream()
            .map(
                id ->
                    new Member(
                        id,
                        name(id),
                        member(id, found.name()).flatMap(one -> one.ip()),
                        member(id, found.name()).flatMap(one -> one.ipv6()),
                        member(id, found.name()).map(one -> one.aliases()).orElse(List.of())))
            .toList();
    return ApiResponse.json(
        ViewJson.of(
            new NetworkDetails(
                found.name(),
                found.bridge(),
                found.subnet(),
                found.gateway(),
                found.subnetIpv6(),
                found.gatewayIpv6(),
                found.internal(),
                members)));
  }

  private Optional<ContainerNetworks.Member> member(String id, String network) {
    return networks.orElseThrow().members().memberships(id).stream()
        .filter(one -> one.network().equals(network))
        .findFirst();
  }

  private NetworkView found(String name) {
    return networks.stream()
        .flatMap(StorageResource::views)
        .filter(network -> network.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "network '" + name + "'", "'zlayer network ls' shows those there are"));
  }

  private String name(String id) {
    return runtime.list().stream()
        .filter(container -> container.id().runtimeName().equals(id))
        .findFirst()
        .map(container -> DisplayName.of(container.inspect()))
        .orElse(id);
  }

  private ApiResponse connect(ApiRequest call) throws InterruptedException {
    NetworkView network = found(call.path("name"));
    Container container = movable(call);
    Connect wanted = call.body(Connect.class);
    OptionalInterfaces.of(container, Connectable.class, "connected to networks")
        .connect(
            network.name(),
            ConnectionSpec.of(wanted.aliases())
                .withAddresses(wanted.ip().map(text -> address("ip", text)).stream().toList()));
    events.network("connect", network.name(), Map.of("container", container.id().runtimeName()));
    return ApiResponse.done();
  }

  private ApiResponse disconnect(ApiRequest call) throws InterruptedException {
    NetworkView network = found(call.path("name"));
    Container container = movable(call);
    OptionalInterfaces.of(container, Connectable.class, "disconnected from networks")
        .disconnect(network.name());
    events.network("disconnect", network.name(), Map.of("container", container.id().runtimeName()));
    return ApiResponse.done();
  }

  /** The engine decides about the networks of its own containers. */
  private Container movable(ApiRequest call) {
    Container container = new ContainerLookup(runtime).find(call.required("container"));
    if (!container.id().deployment().equals(ContainerId.STANDALONE)) {
      throw new AgentException.InvalidSpec(
          "container '%s' belongs to deployment '%s', whose file says which network it is on"
              .formatted(DisplayName.of(container.inspect()), container.id().deployment()));
    }
    return container;
  }

  private ApiResponse remove(ApiRequest call) throws InterruptedException {
    volumes.remove(call.path("name"));
    events.record("volume", "destroy", call.path("name"), Map.of("driver", VolumeInfo.LOCAL));
    return ApiResponse.done();
  }

  private ApiResponse removeNetwork(ApiRequest call) throws InterruptedException {
    String name = call.path("name");
    networks
        .orElseThrow(
            () -> new AgentException.NotFound("network '" + name + "'", "this node has none"))
        .removeNetwork(name);
    events.network("destroy", name, Map.of());
    return ApiResponse.done();
  }

  private ApiResponse networks() {
    return ApiResponse.json(
        ViewJson.of(networks.stream().flatMap(StorageResource::views).toList()));
  }

  private static Stream<NetworkView> views(Networks networks) {
    return networks.networks().stream().map(network -> view(networks, network));
  }

  private static NetworkView view(Networks networks, NamedNetwork network) {
    return new NetworkView(
        network.name(),
        network.bridge(),
        network.subnet().toString(),
        network.gateway(),
        network.subnetIpv6().map(Subnet6::toString),
        network.subnetIpv6().map(Subnet6::gateway),
        network.options().internal(),
        networks.users(network.name()));
  }
}
