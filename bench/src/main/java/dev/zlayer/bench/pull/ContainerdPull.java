package dev.zlayer.bench.pull;

import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.engine.ContainerdEngine;
import dev.zlayer.oci.ImageRef;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** {@code ctr image pull} into a containerd that was started anew on an empty directory. */
public final class ContainerdPull {
  private final FreshPlaces places;
  private final String controlGroup;
  private Path place = Path.of("");
  private @Nullable ContainerdEngine peer;

  public ContainerdPull(Path directory, String controlGroup) {
    this.places = new FreshPlaces(directory);
    this.controlGroup = controlGroup;
  }

  public Rounds.Contestant cold(ImageRef image) {
    return new Rounds.Contestant(
        ContainerdEngine.NAME,
        this::start,
        () -> Rounds.millis(() -> started().pull(image.canonical())),
        this::end);
  }

  private void start() throws Exception {
    if (peer != null) {
      end(); // the turn before failed
    }
    place = places.next();
    peer = new ContainerdEngine(place, "", controlGroup);
  }

  private ContainerdEngine started() {
    return java.util.Objects.requireNonNull(peer);
  }

  private void end() throws Exception {
    started().close();
    peer = null;
    places.discard(place);
  }
}
