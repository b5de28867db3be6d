package dev.zlayer.container;

import dev.zlayer.json.StoredName;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * GPUs wanted by a container; never silently left out.
 *
 * @param vendor {@code nvidia}, {@code amd}, {@code intel}, {@code apple} or {@code other}
 * @param model part of the model's name, any case
 */
public record GpuRequest(int count, String vendor, Optional<String> model, Sharing sharing) {
  /** Who else may use the same GPU. */
  public sealed interface Sharing {
    @StoredName("Exclusive")
    record Exclusive() implements Sharing {}

    /** Through the MPS daemon whose directories are given; both have to exist. */
    @StoredName("Mps")
    record Mps(Path pipeDir, Path logDir) implements Sharing {}

    /** In turns with others: which slice, and the plan file to show inside. */
    @StoredName("TimeSlice")
    record TimeSlice(OptionalInt index, Optional<Path> configFile) implements Sharing {}
  }
}
