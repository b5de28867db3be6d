package dev.zlayer.bench.pull;

import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.engine.PodmanEngine;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.oci.ImageRef;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** {@code podman pull} into an empty directory. */
public final class PodmanPull {
  /** Nothing is run by it. */
  private static final Path NO_RUNTIME = Path.of("runc");

  private final FreshPlaces places;
  private final String controlGroup;
  private Path place = Path.of("");
  private @Nullable PodmanEngine peer;

  public PodmanPull(Path directory, String controlGroup) {
    this.places = new FreshPlaces(directory);
    this.controlGroup = controlGroup;
  }

  public Rounds.Contestant cold(ImageRef image) {
    return new Rounds.Contestant(
        PodmanEngine.NAME,
        () -> start(image),
        () -> Rounds.millis(() -> java.util.Objects.requireNonNull(peer).pull(image.canonical())),
        this::end);
  }

  /** With everything here already, after a first round. */
  public static Rounds.Contestant warm(Path directory, String controlGroup, ImageRef image)
      throws IOException {
    var peer = new PodmanEngine(directory, NO_RUNTIME, "", image.host(), controlGroup);
    return Rounds.Contestant.timed(PodmanEngine.NAME, () -> peer.pull(image.canonical()));
  }

  private void start(ImageRef image) throws Exception {
    if (peer != null) {
      end(); // the turn before failed
    }
    place = places.next();
    peer = new PodmanEngine(place, NO_RUNTIME, "", image.host(), controlGroup);
  }

  private void end() throws Exception {
    peer = null;
    Path mounted = place.resolve("graph/overlay");
    if (Mounts.mounted(mounted)) {
      Mounts.detach(mounted);
    }
    places.discard(place);
  }
}
