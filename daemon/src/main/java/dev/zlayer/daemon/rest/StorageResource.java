package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.engine.volume.VolumeInfo;
import dev.zlayer.engine.volume.VolumeStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.runtime.cni.NamedNetwork;
import dev.zlayer.runtime.cni.Networks;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Volumes and networks. */
public final class StorageResource implements Resource {
  private final VolumeStore volumes;
  private final Optional<Networks> networks;

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
      String name, String bridge, String subnet, InetAddress gateway, List<String> containers) {}

  public StorageResource(VolumeStore volumes, Optional<Networks> networks) {
    this.volumes = volumes;
    this.networks = networks;
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
        Route.view("/volumes/{name}", "Show a volume with its size.", this::inspect)
            .gives(VolumeView.class),
        Route.delete("/volumes/{name}", "Remove a volume that no container mounts.", this::remove)
            .freeing()
            .givesNothing(),
        Route.post("/volumes/prune", "Remove unused volumes.", _ -> list(volumes.prune()))
            .freeing()
            .givesMany(VolumeView.class),
        Route.view("/networks", "List networks.", _ -> networks()).givesMany(NetworkView.class),
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

  private ApiResponse remove(ApiRequest call) {
    volumes.remove(call.path("name"));
    return ApiResponse.done();
  }

  private ApiResponse removeNetwork(ApiRequest call) throws InterruptedException {
    String name = call.path("name");
    networks
        .orElseThrow(
            () -> new AgentException.NotFound("network '" + name + "'", "this node has none"))
        .removeNetwork(name);
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
    List<String> containers =
        networks.attached().stream()
            .filter(
                name ->
                    networks
                        .find(name)
                        .flatMap(attachment -> attachment.ip())
                        .filter(network.subnet()::contains)
                        .isPresent())
            .sorted()
            .toList();
    return new NetworkView(
        network.name(),
        network.bridge(),
        network.subnet().toString(),
        network.subnet().host(1),
        containers);
  }
}
