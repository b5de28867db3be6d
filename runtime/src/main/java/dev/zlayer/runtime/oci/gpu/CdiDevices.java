package dev.zlayer.runtime.oci.gpu;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.YamlJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The devices that vendors describe in the standard CDI directories. Several files may describe one
 * kind; of two descriptions of one device that in the later directory wins.
 */
final class CdiDevices {
  /**
   * One device.
   *
   * @param edits what a container needs to use it: its own part, then that of its whole file
   */
  record Device(String kind, String name, Json annotations, List<Json> edits) {
    String qualified() {
      return kind + "=" + name;
    }

    /** Its own device nodes. */
    List<Json> nodes() {
      return edits.getFirst().at("deviceNodes").items();
    }

    Optional<String> annotation(String key) {
      return annotations.at(key).string();
    }
  }

  private final Map<String, Device> devices;

  private CdiDevices(Map<String, Device> devices) {
    this.devices = devices;
  }

  static CdiDevices read(List<Path> directories) {
    var devices = new LinkedHashMap<String, Device>();
    for (Path directory : directories) {
      for (Path file : files(directory)) {
        Json spec = parse(file);
        String kind = spec.at("kind").string().orElse("");
        for (Json device : spec.at("devices").items()) {
          var found =
              new Device(
                  kind,
                  name(device.at("name")),
                  device.at("annotations"),
                  List.of(device.at("containerEdits"), spec.at("containerEdits")));
          devices.put(found.qualified(), found);
        }
      }
    }
    return new CdiDevices(devices);
  }

  /**
   * Single devices of a kind, those with numbers in their order; {@code all} is not one. A device
   * that has several names, such as a number and a UUID, is listed once, by the first.
   */
  List<Device> ofKind(String kind) {
    var nodes = new HashSet<List<Json>>();
    return devices.values().stream()
        .filter(device -> device.kind().equals(kind) && !device.name().equals("all"))
        .sorted(Comparator.comparingLong(CdiDevices::number).thenComparing(Device::name))
        .filter(device -> device.nodes().isEmpty() || nodes.add(device.nodes()))
        .toList();
  }

  /** Kinds of GPUs, whoever makes them. */
  List<String> gpuKinds() {
    return devices.values().stream()
        .map(Device::kind)
        .filter(kind -> kind.endsWith("/gpu"))
        .distinct()
        .sorted()
        .toList();
  }

  /** A file of the host that a device of this kind needs and that is not there. */
  Optional<String> missingFile(String kind) {
    return devices.values().stream()
        .filter(device -> device.kind().equals(kind))
        .flatMap(device -> device.edits().stream())
        .flatMap(edits -> edits.at("mounts").items().stream())
        .flatMap(mount -> mount.at("hostPath").string().stream())
        .filter(file -> !Files.exists(Path.of(file)))
        .findFirst();
  }

  CdiDevices without(String kind) {
    var others = new LinkedHashMap<>(devices);
    others.values().removeIf(device -> device.kind().equals(kind));
    return new CdiDevices(others);
  }

  CdiDevices with(CdiDevices more) {
    var joined = new LinkedHashMap<>(devices);
    joined.putAll(more.devices);
    return new CdiDevices(joined);
  }

  Optional<Device> find(String kind, String name) {
    return Optional.ofNullable(devices.get(kind + "=" + name));
  }

  private static long number(Device device) {
    return device.name().matches("[0-9]{1,9}") ? Long.parseLong(device.name()) : Long.MAX_VALUE;
  }

  private static String name(Json name) {
    return name.string().or(() -> name.integer().map(String::valueOf)).orElse("");
  }

  private static List<Path> files(Path directory) {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(directory)) {
      return new ArrayList<>(files.filter(CdiDevices::spec).sorted().toList());
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot read the device specs in %s: %s".formatted(directory, e.getMessage()), e);
    }
  }

  private static boolean spec(Path file) {
    String name = file.getFileName().toString();
    return name.endsWith(".json") || name.endsWith(".yaml") || name.endsWith(".yml");
  }

  private static Json parse(Path file) {
    try {
      String text = Files.readString(file);
      return file.toString().endsWith(".json") ? JsonText.parse(text) : YamlJson.parse(text);
    } catch (IOException | AgentException.InvalidSpec e) {
      throw new AgentException.Configuration(
          "the device spec %s cannot be used: %s".formatted(file, e.getMessage()), e);
    }
  }
}
