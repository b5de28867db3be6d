package dev.zlayer.image;

import dev.zlayer.image.manifest.ImageConfig;
import dev.zlayer.image.manifest.Manifest;
import dev.zlayer.image.manifest.ManifestReader;
import dev.zlayer.image.manifest.PlatformChoice;
import dev.zlayer.image.registry.Fetched;
import dev.zlayer.image.registry.Repository;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import java.io.IOException;
import java.util.List;

/** What a registry has under a name: an image or an index, and the platforms it is for. */
public record RemoteImage(String mediaType, Digest digest, long size, List<Platform> platforms) {
  public RemoteImage {
    platforms = List.copyOf(platforms);
  }

  static RemoteImage of(Repository repository, ImageRef image)
      throws IOException, InterruptedException {
    Fetched top = repository.manifest(image.selector());
    List<Platform> platforms =
        switch (ManifestReader.read(top.bytes(), top.contentType())) {
          case Manifest.Index index -> PlatformChoice.platforms(index);
          case Manifest.Image one ->
              ImageConfig.read(repository.bytes(one.config(), ImageConfig.MAX_BYTES))
                  .platform()
                  .stream()
                  .toList();
        };
    return new RemoteImage(top.contentType(), top.digest(), top.bytes().length, platforms);
  }
}
