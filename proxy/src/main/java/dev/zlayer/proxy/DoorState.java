package dev.zlayer.proxy;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.DeploymentNames.Range;
import dev.zlayer.spec.value.Transport;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.TreeMap;

/**
 * What the kernel was told, on disk before it is told. So the next agent knows what leads where
 * before anybody tells it, and takes nothing away from under running connections.
 */
record DoorState(List<Door> doors, Map<String, Range> ranges, int namePort) {
  private static final int VERSION = 1;

  DoorState {
    doors = List.copyOf(doors);
  }

  static DoorState of(Collection<Door> doors, Map<String, Range> ranges, int namePort) {
    return new DoorState(List.copyOf(doors), new TreeMap<>(ranges), namePort);
  }

  static DoorState load(Path file) {
    try {
      return parse(JsonText.parse(Files.readAllBytes(file)));
    } catch (NoSuchFileException _) {
      return of(List.of(), Map.of(), 0);
    } catch (IOException | RuntimeException _) {
      // torn by a power failure: a reboot took the rules too, and all will be told anew
      return of(List.of(), Map.of(), 0);
    }
  }

  void save(Path file) {
    try {
      AtomicFile.writeRelaxed(file, JsonText.bytes(json()));
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot write %s: %s".formatted(file, e.getMessage()), e);
    }
  }

  private Json json() {
    return Json.object()
        .put("version", VERSION)
        .put("name_port", namePort)
        .put("doors", doors.stream().map(DoorState::json).toList())
        .put(
            "ranges",
            ranges.entrySet().stream()
                .map(entry -> json(entry.getKey(), entry.getValue()))
                .toList())
        .build();
  }

  private static DoorState parse(Json json) {
    if (json.at("version").integer().orElse(0L) != VERSION) {
      throw new NoSuchElementException("another version");
    }
    var ranges = new TreeMap<String, Range>();
    json.at("ranges").items().forEach(one -> ranges.put(text(one, "deployment"), range(one)));
    return new DoorState(
        json.at("doors").items().stream().map(DoorState::door).toList(),
        ranges,
        number(json, "name_port"));
  }

  private static Json json(Door door) {
    return Json.object()
        .put("transport", door.key().transport())
        .put("loopback", door.key().loopback())
        .put("port", door.key().port())
        .put("deployment", door.service().deployment())
        .put("service", door.service().service())
        .put("endpoint", door.endpoint())
        .put("target_port", door.targetPort())
        .put("way", door.way())
        .put("members", door.members().stream().map(InetAddress::getHostAddress).toList())
        .build();
  }

  private static Door door(Json json) {
    return new Door(
        new Door.Key(
            Transport.valueOf(text(json, "transport").toUpperCase(Locale.ROOT)),
            json.at("loopback").bool().orElse(false),
            number(json, "port")),
        new ServiceKey(text(json, "deployment"), text(json, "service")),
        text(json, "endpoint"),
        number(json, "target_port"),
        Door.Way.valueOf(text(json, "way").toUpperCase(Locale.ROOT)),
        json.at("members").strings().stream().map(InetAddress::ofLiteral).toList());
  }

  private static Json json(String deployment, Range range) {
    return Json.object()
        .put("deployment", deployment)
        .put("bridge", range.bridge())
        .put("network", range.network().getHostAddress())
        .put("prefix", range.prefixLength())
        .put("gateway", range.gateway().getHostAddress())
        .build();
  }

  private static Range range(Json json) {
    return new Range(
        text(json, "bridge"),
        InetAddress.ofLiteral(text(json, "network")),
        number(json, "prefix"),
        InetAddress.ofLiteral(text(json, "gateway")));
  }

  private static String text(Json json, String member) {
    return json.at(member).string().orElseThrow();
  }

  private static int number(Json json, String member) {
    return json.at(member).integer().orElseThrow().intValue();
  }
}
