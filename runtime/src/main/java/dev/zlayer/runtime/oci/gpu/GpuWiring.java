package dev.zlayer.runtime.oci.gpu;

import dev.zlayer.container.GpuRequest;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.runtime.oci.config.BundleInput;
import dev.zlayer.runtime.oci.config.DeviceNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Gives GPUs to a container. Whatever was asked for is there afterwards or the container is not
 * made: a GPU that silently is none, or silently is not shared, would be found out much later.
 */
public final class GpuWiring {
  private static final String TIME_SLICING_TARGET = "/etc/nvidia/gpu-time-slicing.yaml";

  /** Where CUDA looks for an MPS daemon that nobody named. */
  static final String USUAL_PIPES = "/tmp/nvidia-mps";

  private static final long MEBIBYTE = 1L << 20;

  /**
   * What a request comes to.
   *
   * @param names of the devices
   */
  public record Wired(List<DeviceNode> devices, BundleInput.Extra extra, List<String> names) {
    public static final Wired NOTHING = new Wired(List.of(), BundleInput.Extra.NONE, List.of());
  }

  private final GpuCatalog catalog;
  private final MpsControl mps;
  private final TimeSlices slices;

  GpuWiring(GpuCatalog catalog, MpsControl mps, TimeSlices slices) {
    this.catalog = catalog;
    this.mps = mps;
    this.slices = slices;
  }

  /** {@code uses} is what other containers have. */
  Wired wire(GpuRequest request, List<GpuUse> uses) throws InterruptedException {
    List<CdiDevices.Device> chosen = new GpuChoice(catalog.look(), uses).of(request);
    Map<String, String> env = new LinkedHashMap<>();
    List<BundleInput.Bind> binds = new ArrayList<>();
    share(request.sharing(), chosen, uses, env, binds);
    var nodes = new ArrayList<DeviceNode>();
    var hooks = new ArrayList<BundleInput.Hook>();
    Map<String, String> described = new LinkedHashMap<>();
    chosen.stream()
        .flatMap(device -> device.edits().stream())
        .distinct()
        .forEach(edits -> apply(edits, described, nodes, binds, hooks));
    described.putAll(env); // sharing decides over what the vendor says by default
    return new Wired(
        nodes.stream().distinct().toList(),
        new BundleInput.Extra(described, binds, hooks),
        chosen.stream().map(CdiDevices.Device::qualified).toList());
  }

  private void share(
      GpuRequest.Sharing sharing,
      List<CdiDevices.Device> chosen,
      List<GpuUse> uses,
      Map<String, String> env,
      List<BundleInput.Bind> binds)
      throws InterruptedException {
    switch (sharing) {
      case GpuRequest.Sharing.Exclusive _ -> {}
      case GpuRequest.Sharing.Mps wanted -> {
        daemon(wanted, env, binds);
        if (wanted.memoryBytes().isPresent()) {
          long limit = Math.max(1, wanted.memoryBytes().getAsLong() / MEBIBYTE);
          env.put(
              "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
              IntStream.range(0, chosen.size())
                  .mapToObj(device -> "%d=%dM".formatted(device, limit))
                  .collect(Collectors.joining(",")));
        }
        wanted
            .threadPercent()
            .ifPresent(share -> env.put("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "" + share));
      }
      case GpuRequest.Sharing.TimeSlice(var index, var config, var turn) -> {
        index.ifPresent(_ -> env.put("CUDA_VISIBLE_DEVICES", "0")); // the only one inside
        config.ifPresent(
            file -> {
              if (!Files.isRegularFile(file)) {
                throw new AgentException.GpuSharingUnavailable(
                    "time-slice", file + " is not a file; write the time-slicing plan there");
              }
              binds.add(new BundleInput.Bind(file, TIME_SLICING_TARGET, true));
            });
        if (turn.isPresent()) {
          for (CdiDevices.Device device : chosen) {
            checkTurn(device, turn.get(), uses);
            slices.set(smiName(device), turn.get());
          }
        }
      }
    }
  }

  /**
   * Clients of a daemon only connect to it. Its directory is read-only for them: a daemon of root
   * writes to files there when it is started again, also through links that it finds.
   */
  private void daemon(
      GpuRequest.Sharing.Mps wanted, Map<String, String> env, List<BundleInput.Bind> binds)
      throws InterruptedException {
    Path usual = catalog.driverRoot().resolve(USUAL_PIPES.substring(1));
    if (wanted.pipeDir().isPresent()) {
      Path pipes = wanted.pipeDir().get();
      Path logs = wanted.logDir().orElse(pipes);
      for (Path directory : List.of(pipes, logs)) {
        if (!Files.isDirectory(directory)) {
          throw MpsControl.unavailable(
              directory + " does not exist; ensure nvidia-cuda-mps-control is running");
        }
        binds.add(new BundleInput.Bind(directory, directory.toString(), true));
      }
      requireDaemon(pipes);
      env.put("CUDA_MPS_PIPE_DIRECTORY", pipes.toString());
      env.put("CUDA_MPS_LOG_DIRECTORY", logs.toString());
      return;
    }
    Path pipes = usual;
    if (!mps.trusts(usual) || MpsControl.obstacle(usual).isPresent()) {
      mps.ensure();
      pipes = mps.pipes();
    }
    binds.add(new BundleInput.Bind(pipes, USUAL_PIPES, true));
    env.put("CUDA_MPS_PIPE_DIRECTORY", USUAL_PIPES);
  }

  private static void requireDaemon(Path pipes) {
    Optional<String> obstacle = MpsControl.obstacle(pipes);
    if (obstacle.isPresent()) {
      throw MpsControl.unavailable(
          "no MPS daemon answers in %s (%s); start nvidia-cuda-mps-control -d"
              .formatted(pipes, obstacle.get()));
    }
  }

  /** The length belongs to the GPU: two containers cannot have two. */
  private static void checkTurn(
      CdiDevices.Device device, GpuRequest.Sharing.Turn turn, List<GpuUse> uses) {
    for (GpuUse use : uses) {
      if (use.devices().contains(device.qualified())
          && use.request().sharing() instanceof GpuRequest.Sharing.TimeSlice(_, _, var other)
          && other.isPresent()
          && other.get() != turn) {
        throw new AgentException.GpuSharingUnavailable(
            "time-slice",
            "%s has slices of the length %s for container %s; write the same, or none"
                .formatted(
                    device.qualified(),
                    other.get().name().toLowerCase(java.util.Locale.ROOT),
                    use.container()));
      }
    }
  }

  /** By what nvidia-smi knows a device; it has no time slices for parts of one. */
  static String smiName(CdiDevices.Device device) {
    return device
        .annotation(DriverCdi.UUID)
        .or(() -> Optional.of(device.name()).filter(name -> name.matches("[0-9]+|GPU-.*")))
        .orElseThrow(
            () ->
                new AgentException.GpuSharingUnavailable(
                    "time-slice",
                    "%s is not a whole GPU, which time slices belong to"
                        .formatted(device.qualified())));
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
