package dev.zlayer.daemon;

import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.error.AgentException;
import dev.zlayer.image.ImageStore;
import dev.zlayer.json.Json;
import dev.zlayer.runtime.oci.Faults;
import dev.zlayer.runtime.wsl.WslDistribution;
import dev.zlayer.runtime.wsl.WslRuntime;
import dev.zlayer.runtime.wsl.WslSettings;
import dev.zlayer.runtime.wsl.WslStatus;
import java.nio.file.Files;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;

/** Linux containers in a WSL distribution, where the operator named one or the node is Windows. */
final class WslPart {
  private WslPart() {}

  /**
   * Starts it, or says why not and goes on without. A distribution that was named, and one that has
   * had containers, has to be there.
   */
  static Optional<WslRuntime> start(AgentConfig config, Parts parts, ImageStore images, Log log)
      throws InterruptedException {
    boolean needed = config.wsl().isPresent() || Files.exists(config.directories().wslContainers());
    WslStatus status = look(config).orElse(new WslStatus(true, ""));
    if (!status.usable() && !needed) {
      log.warn("no containers in WSL", Map.of("reason", status.problem()));
      return Optional.empty();
    }
    Optional<WslDistribution> distribution = Settings.wsl(config);
    if (distribution.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        parts.start(
            "the runtime of Linux containers in WSL",
            () ->
                WslRuntime.open(
                    new WslRuntime.Parts(
                        config.directories(),
                        images,
                        distribution.get(),
                        WslSettings.DEFAULT,
                        InstantSource.system(),
                        Faults.NONE))));
  }

  /** How it stands, and how to enable it; nothing where nobody asks for it. */
  static Optional<Json> info(AgentConfig config) throws InterruptedException {
    return look(config)
        .map(
            status ->
                Json.object()
                    .put("usable", status.usable())
                    .put("problem", status.problem())
                    .build());
  }

  private static Optional<WslStatus> look(AgentConfig config) throws InterruptedException {
    try {
      Optional<WslDistribution> distribution = Settings.wsl(config);
      return distribution.isEmpty()
          ? Optional.empty()
          : Optional.of(WslStatus.of(distribution.get()));
    } catch (AgentException.Configuration e) {
      return Optional.of(new WslStatus(false, String.valueOf(e.getMessage())));
    }
  }
}
