package dev.zlayer.runtime.oci.gpu;

import dev.zlayer.container.GpuRequest;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.runtime.oci.config.BundleInput;
import dev.zlayer.runtime.oci.config.DeviceNode;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * Gives GPUs to a container. Whatever was asked for is there afterwards or the container is not
 * made: a GPU that silently is none, or silently is not shared, would be found out much later.
 */
public final class GpuWiring {
  private static final String TIME_SLICING_TARGET = "/etc/nvidia/gpu-time-slicing.yaml";

  /**
   * What a request comes to.
   *
   * @param names of the devices that nobody else may get while this container exists
   */
  public record Wired(List<DeviceNode> devices, BundleInput.Extra extra, List<String> names) {
    static final Wired NOTHING = new Wired(List.of(), BundleInput.Extra.NONE, List.of());
  }

  private final List<Path> cdiDirectories;

  public GpuWiring(List<Path> cdiDirectories) {
    this.cdiDirectories = List.copyOf(cdiDirectories);
  }

  /** {@code taken} are the names of devices that belong to other containers. */
  public Wired wire(Optional<GpuRequest> request, Set<String> taken) {
    return request.map(wanted -> wire(wanted, taken)).orElse(Wired.NOTHING);
  }

  private Wired wire(GpuRequest request, Set<String> taken) {
    Map<String, String> env = new LinkedHashMap<>();
    List<BundleInput.Bind> binds = new ArrayList<>();
    share(request.sharing(), env, binds);
    List<CdiDevices.Device> chosen = choose(request, taken);
    var nodes = new ArrayList<DeviceNode>();
    var hooks = new ArrayList<BundleInput.Hook>();
    Map<String, String> described = new LinkedHashMap<>();
    chosen.stream()
        .flatMap(device -> device.edits().stream())
        .distinct()
        .forEach(edits -> apply(edits, described, nodes, binds, hooks));
    described.putAll(env); // sharing decides over what the vendor says by default
    boolean exclusive = request.sharing() instanceof GpuRequest.Sharing.Exclusive;
    return new Wired(
        nodes,
        new BundleInput.Extra(described, binds, hooks),
        exclusive ? chosen.stream().map(CdiDevices.Device::qualified).toList() : List.of());
  }

  private static void share(
      GpuRequest.Sharing sharing, Map<String, String> env, List<BundleInput.Bind> binds) {
    switch (sharing) {
      case GpuRequest.Sharing.Exclusive _ -> {}
      case GpuRequest.Sharing.Mps(var pipes, var logs) -> {
        for (Path directory : List.of(pipes, logs)) {
          if (!Files.isDirectory(directory)) {
            throw new AgentException.GpuSharingUnavailable(
                "mps", directory + " does not exist; ensure nvidia-cuda-mps-control is running");
          }
          binds.add(new BundleInput.Bind(directory, directory.toString(), false));
        }
        requireDaemon(pipes);
        env.put("CUDA_MPS_PIPE_DIRECTORY", pipes.toString());
        env.put("CUDA_MPS_LOG_DIRECTORY", logs.toString());
      }
      case GpuRequest.Sharing.TimeSlice(var index, var config) -> {
        index.ifPresent(slice -> env.put("CUDA_VISIBLE_DEVICES", Integer.toString(slice)));
        config.ifPresent(
            file -> {
              if (!Files.isRegularFile(file)) {
                throw new AgentException.GpuSharingUnavailable(
                    "time-slice", file + " is not a file; write the time-slicing plan there");
              }
              binds.add(new BundleInput.Bind(file, TIME_SLICING_TARGET, true));
            });
      }
    }
  }

  /** The directories outlive the daemon: only whoever answers at its socket is there. */
  private static void requireDaemon(Path pipes) {
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      // it accepts connections, which is all that is asked of it; one that hangs is not waited for
      channel.configureBlocking(false);
      boolean _ = channel.connect(UnixDomainSocketAddress.of(pipes.resolve("control")));
    } catch (IOException e) {
      throw new AgentException.GpuSharingUnavailable(
          "mps",
          "no MPS daemon answers in %s (%s); start nvidia-cuda-mps-control -d"
              .formatted(pipes, e.getMessage()));
    }
  }

  private List<CdiDevices.Device> choose(GpuRequest request, Set<String> taken) {
    String kind = kind(request.vendor());
    CdiDevices devices = CdiDevices.read(cdiDirectories);
    OptionalInt slice =
        request.sharing() instanceof GpuRequest.Sharing.TimeSlice(var index, _)
            ? index
            : OptionalInt.empty();
    if (slice.isPresent()) {
      String name = Integer.toString(slice.getAsInt());
      return List.of(devices.find(kind, name).orElseThrow(() -> missing(kind + "=" + name)));
    }
    List<CdiDevices.Device> fitting =
        devices.ofKind(kind).stream().filter(device -> fits(device, request.model())).toList();
    if (fitting.size() < request.count()) {
      throw missing(
          "%d of %s%s"
              .formatted(
                  request.count(), kind, request.model().map(m -> " model " + m).orElse("")));
    }
    List<CdiDevices.Device> free =
        fitting.stream().filter(device -> !taken.contains(device.qualified())).toList();
    if (free.size() < request.count()) {
      throw new AgentException.GpuSharingUnavailable(
          "exclusive",
          "%d of %d %s devices are free and %d are wanted"
              .formatted(free.size(), fitting.size(), kind, request.count()));
    }
    return free.subList(0, request.count());
  }

  private static boolean fits(CdiDevices.Device device, Optional<String> model) {
    return model
        .map(part -> part.toLowerCase(Locale.ROOT))
        .map(
            part ->
                device.annotations().stringMap().values().stream()
                    .anyMatch(text -> text.toLowerCase(Locale.ROOT).contains(part)))
        .orElse(true);
  }

  private AgentException missing(String what) {
    return new AgentException.Configuration(
        "gpu %s is not described in %s: generate the device spec with the vendor's tool"
            .formatted(
                what, String.join(" or ", cdiDirectories.stream().map(Path::toString).toList())));
  }

  private static String kind(String vendor) {
    return switch (vendor) {
      case "nvidia", "amd", "intel" -> vendor + ".com/gpu";
      default ->
          throw new AgentException.Unsupported(
              "gpu vendor '%s': only nvidia, amd and intel have device specs on Linux"
                  .formatted(vendor));
    };
  }

  private static void apply(
      Json edits,
      Map<String, String> env,
      List<DeviceNode> nodes,
      List<BundleInput.Bind> binds,
      List<BundleInput.Hook> hooks) {
    for (String line : edits.at("env").strings()) {
      int equals = line.indexOf('=');
      if (equals > 0) {
        env.put(line.substring(0, equals), line.substring(equals + 1));
      }
    }
    for (Json node : edits.at("deviceNodes").items()) {
      String path = node.at("path").string().orElse("");
      nodes.add(
          DeviceNode.read(
              Path.of(node.at("hostPath").string().orElse(path)),
              path,
              node.at("permissions").string().orElse("rwm")));
    }
    for (Json mount : edits.at("mounts").items()) {
      binds.add(
          new BundleInput.Bind(
              Path.of(mount.at("hostPath").string().orElse("")),
              mount.at("containerPath").string().orElse(""),
              mount.at("options").strings().contains("ro")));
    }
    for (Json hook : edits.at("hooks").items()) {
      hooks.add(
          new BundleInput.Hook(
              hook.at("hookName").string().orElse(""),
              hook.at("path").string().orElse(""),
              hook.at("args").strings(),
              hook.at("env").strings()));
    }
  }
}
