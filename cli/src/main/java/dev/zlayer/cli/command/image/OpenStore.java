package dev.zlayer.cli.command.image;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DirectoryLock;
import dev.zlayer.image.ImageStore;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageArchives;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.Images;

/** An image store that this process holds alone until it closes it. */
record OpenStore(DirectoryLock lock, ImageStore store) implements AutoCloseable {
  Images images() {
    return store.images();
  }

  ImageArchives archives() {
    return store.images();
  }

  ImageDetails details(ImageRef image) {
    return store
        .images()
        .find(image)
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "image '" + image.familiar() + "'",
                    "it is not here, 'zlayer pull " + image.familiar() + "' fetches it"));
  }

  @Override
  public void close() {
    try (lock) {
      store.close();
    }
  }
}
