package dev.zlayer.bench.pull;

import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.engine.Tool;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.oci.ImageRef;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** The packaged command line, one process per pull. */
public final class CliPull {
  private static final String NAME = "zlayer pull";

  private final Path program;
  private final FreshPlaces places;
  private Path place;

  /** Warm pulls stay in {@code directory}, cold ones get a new place below it each time. */
  public CliPull(Path program, Path directory) {
    this.program = program;
    this.places = new FreshPlaces(directory.resolve("cold"));
    this.place = directory.resolve("warm");
  }

  /** Whether it is there and knows the verb. */
  public boolean available() throws InterruptedException {
    if (!Files.isExecutable(program)) {
      return false;
    }
    try {
      Tool.run(program.toString(), "pull", "--help");
      return true;
    } catch (AgentException _) {
      return false;
    }
  }

  public Rounds.Contestant cold(ImageRef image) {
    return new Rounds.Contestant(
        NAME,
        () -> place = places.next(),
        () -> Rounds.millis(() -> pull(image)),
        () -> places.discard(place));
  }

  /** With everything here already. */
  public Rounds.Contestant warm(ImageRef image) {
    return Rounds.Contestant.timed(NAME, () -> pull(image));
  }

  private void pull(ImageRef image) throws InterruptedException {
    var words = new String[] {program.toString(), "pull", image.canonical()};
    Tool.run(Command.of(words).withEnv(Map.of("ZLAYER_DATA_DIR", place.toString())));
  }
}
