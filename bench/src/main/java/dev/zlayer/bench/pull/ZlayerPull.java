package dev.zlayer.bench.pull;

import dev.zlayer.bench.Rounds;
import dev.zlayer.oci.ImageRef;
import java.nio.file.Path;

/** Our own store in this process, warmed up as in a daemon. */
public final class ZlayerPull {
  private final FreshPlaces places;
  private Path place = Path.of("");

  public ZlayerPull(Path directory) {
    this.places = new FreshPlaces(directory);
  }

  public Rounds.Contestant cold(ImageRef image) {
    return cold("zlayer", image);
  }

  public Rounds.Contestant cold(String name, ImageRef image) {
    return new Rounds.Contestant(
        name,
        () -> place = places.next(),
        () -> Rounds.millis(() -> PullOnce.pull(image, place)),
        () -> places.discard(place));
  }
}
