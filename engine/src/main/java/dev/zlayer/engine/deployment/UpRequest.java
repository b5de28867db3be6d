package dev.zlayer.engine.deployment;

import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A deployment file that is to be made true.
 *
 * @param name the deployment it is meant for; refused when the file names another one
 * @param file YAML as a person wrote it
 * @param directory absolute; where relative paths of the file start
 * @param after the revision that the caller has seen, 0 for none; refused when it is another one
 * @param share what of it is to run here, when the rest runs on other nodes of a cluster
 */
@SuppressWarnings("ArrayRecordComponent") // a file is bytes; nobody compares requests
public record UpRequest(
    Optional<String> name, byte[] file, Path directory, OptionalLong after, Optional<Share> share) {
  public UpRequest(Optional<String> name, byte[] file, Path directory, OptionalLong after) {
    this(name, file, directory, after, Optional.empty());
  }

  public UpRequest(Optional<String> name, byte[] file, Path directory) {
    this(name, file, directory, OptionalLong.empty());
  }

  public UpRequest {
    file = file.clone();
  }

  @Override
  public byte[] file() {
    return file.clone();
  }
}
