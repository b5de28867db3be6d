package dev.zlayer.testkit.image;

import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.Platform;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The configuration of an image while it is being made; owned by its maker. */
final class ImageConfig {
  List<String> entrypoint = List.of();
  List<String> cmd = List.of();
  final List<String> env = new ArrayList<>();
  Optional<String> user = Optional.empty();
  Optional<String> workdir = Optional.empty();
  final Set<String> exposedPorts = new LinkedHashSet<>();
  final Set<String> volumes = new LinkedHashSet<>();
  final Map<String, String> labels = new LinkedHashMap<>();
  Optional<String> stopSignal = Optional.empty();
  Optional<Json> healthcheck = Optional.empty();
  Optional<String> createdBy = Optional.empty();
  List<String> triggers = List.of();

  Json json(Platform platform, List<Digest> diffIds) {
    var history = new ArrayList<Json>();
    for (int i = 0; i < diffIds.size(); i++) {
      history.add(
          Json.object()
              .put("created", TarEntry.EPOCH)
              .put("created_by", createdBy.orElse("image maker, layer " + (i + 1)))
              .build());
    }
    return Json.object()
        .put("created", TarEntry.EPOCH)
        .put("architecture", platform.architecture())
        .put("os", platform.os())
        .putIf("variant", platform.variant())
        .putIf("os.version", platform.osVersion())
        .put("config", run())
        .put("rootfs", Json.object().put("type", "layers").put("diff_ids", diffIds).build())
        .put("history", history)
        .build();
  }

  private Json run() {
    return Json.object()
        .putIf("Entrypoint", nonEmpty(entrypoint))
        .putIf("Cmd", nonEmpty(cmd))
        .putIf("Env", nonEmpty(env))
        .putIf("User", user)
        .putIf("WorkingDir", workdir)
        .putIf("ExposedPorts", keys(exposedPorts))
        .putIf("Volumes", keys(volumes))
        .putIf("Labels", labels.isEmpty() ? Optional.empty() : Optional.of(labels))
        .putIf("StopSignal", stopSignal)
        .putIf("Healthcheck", healthcheck)
        .putIf("onbuild", nonEmpty(triggers)) // builders do not mind the case of letters
        .build();
  }

  private static Optional<List<String>> nonEmpty(List<String> list) {
    return list.isEmpty() ? Optional.empty() : Optional.of(list);
  }

  /** Sets are objects with empty values in this format. */
  private static Optional<Json> keys(Set<String> names) {
    if (names.isEmpty()) {
      return Optional.empty();
    }
    Json.Builder json = Json.object();
    names.forEach(name -> json.put(name, Json.object().build()));
    return Optional.of(json.build());
  }
}
