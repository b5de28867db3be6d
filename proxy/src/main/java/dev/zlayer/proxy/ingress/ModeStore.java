package dev.zlayer.proxy.ingress;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** Which services operators have set aside; it survives a reboot. */
final class ModeStore {
  private static final System.Logger LOG = LazyLogger.of(ModeStore.class);
  private static final String MODES = "modes";

  static final StoredFormat FORMAT = StoredFormat.of("the modes of routes");

  private final Path file;

  ModeStore(Path directory) {
    this.file = directory.resolve("modes.json");
  }

  /** One service. */
  record Entry(ServiceKey service, RouteMode mode) {}

  Map<ServiceKey, RouteMode> load() {
    var modes = new TreeMap<ServiceKey, RouteMode>();
    try {
      if (Files.exists(file)) {
        FORMAT.upgrade(JsonText.parse(Files.readAllBytes(file)), file).at(MODES).items().stream()
            .map(one -> RecordJson.read(one, Entry.class))
            .forEach(entry -> modes.put(entry.service(), entry.mode()));
      }
    } catch (IOException | RuntimeException e) {
      LOG.log(
          System.Logger.Level.WARNING, "ignored unreadable %s: %s".formatted(file, e.getMessage()));
    }
    return modes;
  }

  void save(Map<ServiceKey, RouteMode> modes) {
    try {
      if (modes.isEmpty()) {
        Files.deleteIfExists(file);
        return;
      }
      Files.createDirectories(file.resolveSibling("."));
      AtomicFile.write(
          file,
          JsonText.bytes(
              FORMAT
                  .begin()
                  .put(
                      MODES,
                      modes.entrySet().stream()
                          .map(one -> RecordJson.write(new Entry(one.getKey(), one.getValue())))
                          .toList())
                  .build()));
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot write %s: %s".formatted(file, e.getMessage()), e);
    }
  }
}
