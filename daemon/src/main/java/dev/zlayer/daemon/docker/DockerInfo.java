package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.engine.volume.VolumeInfo;
import dev.zlayer.engine.volume.VolumeStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.host.linux.Self;
import dev.zlayer.image.ImageStore;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.runtime.oci.tool.OciTools;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;

/** What this node is, what it holds, and whether credentials are right. */
final class DockerInfo implements Resource {
  private final AgentConfig config;
  private final ContainerRuntime runtime;
  private final ImageStore store;
  private final VolumeStore volumes;
  private final DockerVolumes volumeWire;
  private final DockerImageIndex images;
  private final Optional<OciTools> tools;
  private final RecentEvents recent;
  private final InstantSource clock;

  DockerInfo(
      AgentConfig config,
      ContainerRuntime runtime,
      ImageStore store,
      VolumeStore volumes,
      DockerVolumes volumeWire,
      Optional<OciTools> tools,
      RecentEvents recent,
      InstantSource clock) {
    this.config = config;
    this.runtime = runtime;
    this.store = store;
    this.volumes = volumes;
    this.volumeWire = volumeWire;
    this.images = new DockerImageIndex(runtime.images());
    this.tools = tools;
    this.recent = recent;
    this.clock = clock;
  }

  @Override
  public String title() {
    return "Node";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get("/info", "Show facts about this node.", this::info),
        Route.get("/system/df", "Show what takes space on the disk.", this::usage),
        Route.post("/auth", "Check credentials with their registry.", this::auth));
  }

  private ApiResponse info(ApiRequest call) {
    int running = 0;
    int paused = 0;
    List<Container> containers = runtime.list();
    for (Container container : containers) {
      switch (container.status()) {
        case ContainerStatus.Paused _ -> paused++;
        case ContainerStatus status when status.alive() -> running++;
        default -> {}
      }
    }
    HostAbilities host = HostAbilities.read(config, tools);
    String driver = store.snapshots().copyReason().isEmpty() ? "overlay2" : "vfs";
    Json.Builder info =
        Json.object()
            .put("ID", host.id())
            .put("Containers", containers.size())
            .put("ContainersRunning", running)
            .put("ContainersPaused", paused)
            .put("ContainersStopped", containers.size() - running - paused)
            .put("Images", runtime.images().list().size())
            .put("Driver", driver)
            .put("DriverStatus", List.of(List.of("Backing Filesystem", host.backingFileSystem())))
            .put("Plugins", plugins());
    host.limits().forEach(info::put);
    return ApiResponse.json(
        info.put("Debug", config.logLevel() == Log.Level.DEBUG)
            .put("NFd", Self.descriptors())
            .put("NGoroutines", Self.threads())
            .put("SystemTime", clock.instant().toString())
            .put("LoggingDriver", "json-file")
            .put("CgroupDriver", host.cgroupDriver())
            .put("CgroupVersion", host.cgroupVersion())
            .put("NEventsListener", recent.listeners())
            .put("KernelVersion", Machine.kernel())
            .put("OperatingSystem", HostAbilities.release("PRETTY_NAME", "Linux"))
            .put("OSVersion", HostAbilities.release("VERSION_ID", ""))
            .put("OSType", "linux")
            .put("Architecture", Machine.architecture())
            .put("IndexServerAddress", "https://index.docker.io/v1/")
            .put("RegistryConfig", host.registries())
            .put("NCPU", Runtime.getRuntime().availableProcessors())
            .put("MemTotal", Machine.memoryBytes())
            .put("GenericResources", Json.Null.INSTANCE)
            .put("DockerRootDir", config.directories().data().toString())
            .put("HttpProxy", config.httpProxy().orElse(""))
            .put("HttpsProxy", config.httpsProxy().orElse(""))
            .put("NoProxy", config.noProxy().orElse(""))
            .put("Name", Machine.hostname())
            .put("Labels", List.of())
            .put("ExperimentalBuild", false)
            .put("ServerVersion", DockerEngineApi.ENGINE)
            .put("Runtimes", host.runtimes())
            .put("DefaultRuntime", host.runtime())
            .put("Swarm", swarm())
            .put("LiveRestoreEnabled", true)
            .put("Isolation", "")
            .put("InitBinary", host.initProgram())
            .put("ContainerdCommit", commit(""))
            .put("RuncCommit", commit(host.runtimeVersion()))
            .put("InitCommit", commit(""))
            .put("SecurityOptions", host.securityOptions())
            .put("ProductLicense", "")
            .put("Warnings", host.warnings())
            .build());
  }

  /** There is none. */
  private static Json swarm() {
    return Json.object()
        .put("NodeID", "")
        .put("NodeAddr", "")
        .put("LocalNodeState", "inactive")
        .put("ControlAvailable", false)
        .put("Error", "")
        .put("RemoteManagers", Json.Null.INSTANCE)
        .build();
  }

  private static Json commit(String id) {
    return Json.object().put("ID", id).put("Expected", id).build();
  }

  private static Json plugins() {
    return Json.object()
        .put("Volume", List.of("local"))
        .put("Network", List.of("bridge", "host", "null"))
        .put("Authorization", Json.Null.INSTANCE)
        .put("Log", List.of("json-file"))
        .build();
  }

  private ApiResponse usage(ApiRequest call) {
    List<String> types = call.queries("type");
    Json.Builder usage = Json.object();
    long layers = 0;
    if (types.isEmpty() || types.contains("image")) {
      var list = new ArrayList<Json>();
      var seen = new HashSet<Digest>();
      for (ImageInfo info : runtime.images().list()) {
        for (ImageDetails details :
            images.of(info).map(DockerImageIndex.Found::details).stream().toList()) {
          list.add(ImageWire.summary(details, users(info.digest())));
          for (ImageDetails.Layer layer : details.layers()) {
            layers += seen.add(layer.digest()) ? layer.bytes() : 0;
          }
        }
      }
      usage.put("Images", list);
    }
    usage.put("LayersSize", layers);
    if (types.isEmpty() || types.contains("container")) {
      usage.put("Containers", runtime.list().stream().flatMap(this::container).toList());
    }
    if (types.isEmpty() || types.contains("volume")) {
      usage.put("Volumes", volumes.listWithSizes().stream().map(this::volume).toList());
    }
    if (types.isEmpty() || types.contains("build-cache")) {
      usage.put("BuildCache", List.of());
    }
    return ApiResponse.json(usage.put("BuilderSize", 0).build());
  }

  private long users(Digest image) {
    return runtime.list().stream()
        .filter(
            container -> {
              try {
                return container.inspect().imageDigest().filter(image::equals).isPresent();
              } catch (AgentException.NotFound _) {
                return false; // removed meanwhile
              }
            })
        .count();
  }

  private java.util.stream.Stream<Json> container(Container container) {
    try {
      return java.util.stream.Stream.of(
          Json.object()
              .put("Id", DockerContainerIndex.id(container))
              .put("Names", List.of("/" + ContainerNames.of(container)))
              .put("Image", container.spec().image().familiar())
              .put("ImageID", "")
              .put("Command", "")
              .put("Created", container.inspect().createdAt().getEpochSecond())
              .put("Ports", List.of())
              .put("SizeRw", 0)
              .put("SizeRootFs", 0)
              .put("Labels", container.spec().labels())
              .put("State", container.status().alive() ? "running" : "exited")
              .put("Status", "")
              .put("Mounts", List.of())
              .build());
    } catch (AgentException.NotFound _) {
      return java.util.stream.Stream.empty(); // removed meanwhile
    }
  }

  private Json volume(VolumeInfo volume) {
    var members = new LinkedHashMap<>(volumeWire.wire(volume).members());
    members.put(
        "UsageData",
        Json.object()
            .put("Size", volume.size().map(VolumeInfo.Size::bytes).orElse(-1L))
            .put("RefCount", volume.usedBy().size())
            .build());
    return new Json.Obj(members);
  }

  private ApiResponse auth(ApiRequest call) throws InterruptedException {
    Json body = RequestFields.body("POST /auth", call);
    RegistryAuth auth =
        RegistryHeader.auth(body).orElseThrow(() -> DockerError.badRequest("username is missing"));
    String address =
        body.at("serveraddress")
            .string()
            .filter(text -> !text.isEmpty())
            .orElse("docker.io")
            .replaceFirst("^https?://", "")
            .replaceFirst("/.*$", "");
    String host = ImageRef.parse(address + "/any").host();
    try {
      store.images().login(host, auth);
    } catch (AgentException.InvalidSpec e) {
      throw DockerError.unauthorized(String.valueOf(e.getMessage()));
    }
    return ApiResponse.json(
        Json.object().put("Status", "Login Succeeded").put("IdentityToken", "").build());
  }
}
