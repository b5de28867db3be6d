package dev.zlayer.bench.pull;

import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.engine.ZlayerDaemon;
import dev.zlayer.oci.ImageRef;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The packaged command line, one process per pull, which asks the daemon. */
public final class CliPull {
  private static final String NAME = "zlayer pull";

  private final Path program;
  private final FreshPlaces places;
  private @Nullable Path place;
  private @Nullable ZlayerDaemon fresh;

  public CliPull(Path program, Path directory) {
    this.program = program;
    this.places = new FreshPlaces(directory);
  }

  /** Each time with a daemon that was just started over an empty directory. */
  public Rounds.Contestant cold(ImageRef image) {
    return new Rounds.Contestant(
        NAME + ", daemon just started",
        () -> {
          place = places.next();
          fresh = new ZlayerDaemon(program, place, Map.of("ZLAYER_NETWORK_PREFIX", "pull"));
        },
        () -> Rounds.millis(() -> Objects.requireNonNull(fresh).run("pull", image.canonical())),
        () -> {
          Objects.requireNonNull(fresh).close();
          places.discard(Objects.requireNonNull(place));
        });
  }

  /** With everything here already. */
  public static Rounds.Contestant warm(ZlayerDaemon daemon, ImageRef image) {
    return Rounds.Contestant.timed(NAME, () -> daemon.run("pull", image.canonical()));
  }
}
