package dev.zlayer.engine.volume;

import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * What is known of a volume.
 *
 * @param usedBy containers that mount it, running or not, in order
 * @param deployments whose files name it, in order; they will want it again
 * @param size what its files take together; absent when it was not asked for
 */
public record VolumeInfo(
    String name,
    String driver,
    Path path,
    Instant createdAt,
    List<String> usedBy,
    List<String> deployments,
    Optional<Size> size) {
  /** The only driver: a directory of the machine. */
  public static final String LOCAL = "local";

  public VolumeInfo {
    usedBy = List.copyOf(usedBy);
    deployments = List.copyOf(deployments);
  }

  /**
   * How much it holds.
   *
   * @param complete false when time ran out: there is at least this much
   */
  public record Size(long bytes, long files, boolean complete) {}

  public boolean inUse() {
    return !usedBy.isEmpty();
  }
}
