package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.Session;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.DirectoryLock;
import dev.zlayer.image.ImageStore;
import dev.zlayer.image.ImagesConfig;
import dev.zlayer.image.registry.DockerConfig;
import dev.zlayer.image.registry.RegistriesConfig;
import dev.zlayer.oci.Platform;
import java.time.InstantSource;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which image store, for every verb that opens one. */
final class StoreOptions {
  @Option(
      names = "--data-dir",
      paramLabel = "DIR",
      description = "Where images lie (default: $ZLAYER_DATA_DIR, else /var/lib/zlayer).")
  private @Nullable String dataDir;

  /** Opens the store for this process alone. */
  OpenStore open(Session session) {
    DataDir directory = Locations.dataDir(session, Optional.ofNullable(dataDir));
    ImagesConfig config =
        ImagesConfig.of(
                Platform.of("linux", System.getProperty("os.arch", "amd64")),
                InstantSource.system())
            .withRegistries(
                RegistriesConfig.read(Locations.configDir(session).resolve("registries.json")))
            .withCredentials(new DockerConfig(Locations.dockerConfig(session)));
    DirectoryLock lock = DirectoryLock.take(directory.lockFile());
    try {
      return new OpenStore(lock, ImageStore.open(directory, config));
    } catch (RuntimeException e) {
      lock.close();
      throw e;
    }
  }
}
