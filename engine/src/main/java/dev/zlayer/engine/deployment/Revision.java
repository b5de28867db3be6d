package dev.zlayer.engine.deployment;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;

/**
 * A deployment file as it once was wanted.
 *
 * @param number counted from 1 within the deployment, never given twice
 * @param reason where it came from: {@code up}, {@code rollback to 3}
 * @param directory where relative paths of the file start
 * @param file the text as it was given
 * @param share what of it runs here, when the rest runs on other nodes of a cluster
 */
public record Revision(
    String deployment,
    long number,
    Instant at,
    String reason,
    Path directory,
    String file,
    Optional<Share> share) {
  /** All of it runs here. */
  public Revision(
      String deployment, long number, Instant at, String reason, Path directory, String file) {
    this(deployment, number, at, reason, directory, file, Optional.empty());
  }

  public byte[] bytes() {
    return file.getBytes(StandardCharsets.UTF_8);
  }
}
