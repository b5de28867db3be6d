package dev.zlayer.runtime.oci.gpu;

import dev.zlayer.container.GpuRequest.Sharing.Turn;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * How long processes compute on GPUs before the next, as containers asked for it. What was changed
 * is noted before, so that also a later agent puts it back. Guarded by the lock of GPUs.
 */
final class TimeSlices {
  private final Path file;
  private final GpuCatalog catalog;

  TimeSlices(Path file, GpuCatalog catalog) {
    this.file = file;
    this.catalog = catalog;
  }

  /** {@code gpu} is what nvidia-smi knows it by. */
  void set(String gpu, Turn turn) throws InterruptedException {
    NvidiaSmi smi = smi();
    Map<String, String> noted = noted();
    boolean known = noted.containsKey(gpu);
    noted.put(gpu, turn.name());
    note(noted);
    try {
      smi.timeSlice(gpu, turn);
    } catch (AgentException e) {
      if (!known) {
        noted.remove(gpu); // nothing was changed
        note(noted);
      }
      throw e;
    }
  }

  /** Puts back what nobody asks for any more. */
  void keep(Set<String> gpus) throws InterruptedException {
    Map<String, String> noted = noted();
    List<String> unused =
        new ArrayList<>(noted.keySet().stream().filter(gpu -> !gpus.contains(gpu)).toList());
    for (String gpu : unused) {
      smi().timeSlice(gpu, Turn.DEFAULT);
      noted.remove(gpu);
      note(noted);
    }
  }

  private NvidiaSmi smi() {
    return NvidiaSmi.of(catalog)
        .orElseThrow(
            () ->
                new AgentException.GpuSharingUnavailable(
                    "time-slice", "nvidia-smi is not installed; install it with the driver"));
  }

  private Map<String, String> noted() {
    try {
      return Files.exists(file)
          ? new LinkedHashMap<>(JsonText.parse(Files.readAllBytes(file)).stringMap())
          : new LinkedHashMap<>();
    } catch (IOException | AgentException.InvalidSpec e) {
      throw new AgentException.Internal("cannot read %s: %s".formatted(file, e.getMessage()), e);
    }
  }

  private void note(Map<String, String> slices) {
    try {
      AtomicFile.write(file, JsonText.bytes(Json.of(slices)));
    } catch (IOException e) {
      throw new AgentException.Internal("cannot write %s: %s".formatted(file, e.getMessage()), e);
    }
  }
}
