package dev.zlayer.runtime.oci.gpu;

import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.linux.NvidiaDriver;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Describes the GPUs of a driver as CDI does, for hosts where the vendor's tool is not installed.
 * Libraries appear in one directory that the loader is pointed to; their further names are links
 * there, so an image gets no file that it did not have.
 */
final class DriverCdi {
  static final String KIND = "nvidia.com/gpu";
  static final String MODEL = "dev.zlayer.gpu/model";
  static final String UUID = "dev.zlayer.gpu/uuid";
  static final String BUS = "dev.zlayer.gpu/bus";

  /** Where images that are made for NVIDIA's GPUs look for the driver. */
  static final String LIBRARIES = "/usr/local/nvidia/lib64";

  private final Path directory;

  /** {@code directory} is for the agent alone. */
  DriverCdi(Path directory) {
    this.directory = directory;
  }

  Path specs() {
    return directory.resolve("cdi");
  }

  /** Writes the description, unless it is written as it is. */
  void write(NvidiaDriver driver) throws IOException {
    Path libraries = directory.resolve("driver-" + driver.version()).resolve("lib64");
    links(driver, libraries);
    byte[] text = JsonText.bytes(spec(driver, libraries));
    Path file = specs().resolve("nvidia.json");
    Files.createDirectories(specs());
    if (!Files.exists(file) || !Arrays.equals(Files.readAllBytes(file), text)) {
      AtomicFile.write(file, text);
    }
  }

  static Json spec(NvidiaDriver driver, Path libraries) {
    var devices = new ArrayList<Json>();
    var all = new ArrayList<Json>();
    for (NvidiaDriver.Gpu gpu : driver.gpus()) {
      String name = Integer.toString(gpu.minor());
      Json card = node(gpu.node(), "/dev/nvidia" + gpu.minor());
      all.add(card);
      if (gpu.instances().isEmpty()) {
        devices.add(device(name, facts(gpu), List.of(card)));
      }
      for (int i = 0; i < gpu.instances().size(); i++) {
        var nodes = new ArrayList<>(List.of(card));
        for (Path capability : gpu.instances().get(i).nodes()) {
          nodes.add(node(capability, "/dev/nvidia-caps/" + capability.getFileName()));
        }
        all.addAll(nodes.subList(1, nodes.size()));
        devices.add(device(name + ":" + i, part(gpu, i), nodes));
      }
    }
    devices.add(device("all", Map.of(), all.stream().distinct().toList()));
    return Json.object()
        .put("cdiVersion", "0.6.0")
        .put("kind", KIND)
        .put("annotations", Map.of("dev.zlayer.gpu/driver", driver.version()))
        .put("devices", devices)
        .put("containerEdits", common(driver, libraries))
        .build();
  }

  private static Json common(NvidiaDriver driver, Path libraries) {
    var mounts = new ArrayList<Json>();
    mounts.add(mount(libraries, LIBRARIES));
    for (NvidiaDriver.Library library : driver.libraries()) {
      mounts.add(mount(library.file(), LIBRARIES + "/" + library.file().getFileName()));
    }
    driver.programs().entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach(program -> mounts.add(mount(program.getValue(), "/usr/bin/" + program.getKey())));
    return Json.object()
        .put("env", List.of("LD_LIBRARY_PATH=" + LIBRARIES, "NVIDIA_VISIBLE_DEVICES=void"))
        .put(
            "deviceNodes",
            driver.nodes().stream().map(node -> node(node, "/dev/" + node.getFileName())).toList())
        .put("mounts", mounts)
        .build();
  }

  private static Map<String, String> facts(NvidiaDriver.Gpu gpu) {
    return Map.of(MODEL, gpu.model(), UUID, gpu.uuid(), BUS, gpu.bus());
  }

  /** The kernel does not say the UUID of a part. */
  private static Map<String, String> part(NvidiaDriver.Gpu gpu, int number) {
    NvidiaDriver.Instance instance = gpu.instances().get(number);
    var facts = new HashMap<String, String>();
    facts.put(
        MODEL,
        "%s MIG %d.%d".formatted(gpu.model(), instance.gpuInstance(), instance.computeInstance()));
    facts.put(BUS, gpu.bus());
    return facts;
  }

  private static Json device(String name, Map<String, String> facts, List<Json> nodes) {
    var annotations = Json.object();
    facts.entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach(fact -> annotations.put(fact.getKey(), fact.getValue()));
    return Json.object()
        .put("name", name)
        .put("annotations", annotations.build())
        .put("containerEdits", Json.object().put("deviceNodes", nodes).build())
        .build();
  }

  private static Json node(Path host, String inside) {
    return Json.object()
        .put("path", inside)
        .put("hostPath", host.toString())
        .put("permissions", "rw")
        .build();
  }

  private static Json mount(Path host, String inside) {
    return Json.object()
        .put("hostPath", host.toString())
        .put("containerPath", inside)
        .put("options", List.of("ro", "nosuid", "nodev", "bind"))
        .build();
  }

  /** A file for each library to be mounted on, and its other names. */
  private static void links(NvidiaDriver driver, Path libraries) throws IOException {
    Files.createDirectories(libraries);
    var wanted = new HashMap<String, String>();
    for (NvidiaDriver.Library library : driver.libraries()) {
      String file = library.file().getFileName().toString();
      wanted.put(file, "");
      library.names().forEach(name -> wanted.put(name, file));
    }
    try (Stream<Path> there = Files.list(libraries)) {
      for (Path entry : there.toList()) {
        String target = Files.isSymbolicLink(entry) ? Files.readSymbolicLink(entry).toString() : "";
        if (!target.equals(wanted.get(entry.getFileName().toString()))) {
          Files.delete(entry);
        }
      }
    }
    for (var name : wanted.entrySet()) {
      Path entry = libraries.resolve(name.getKey());
      if (Files.exists(entry, java.nio.file.LinkOption.NOFOLLOW_LINKS)) {
        continue;
      }
      if (name.getValue().isEmpty()) {
        Files.createFile(entry);
      } else {
        Files.createSymbolicLink(entry, Path.of(name.getValue()));
      }
    }
  }
}
