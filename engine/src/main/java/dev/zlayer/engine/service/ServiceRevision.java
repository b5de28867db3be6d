package dev.zlayer.engine.service;

import dev.zlayer.spec.ServiceSpec;
import java.nio.file.Path;

/**
 * A service as one revision of its deployment wants it.
 *
 * @param directory where relative paths of the file start
 */
public record ServiceRevision(long revision, ServiceSpec spec, Path directory) {
  /** Finds what a service was, or is to be, in a revision. */
  @FunctionalInterface
  public interface Lookup {
    /** Empty when the revision is kept no longer, or has no such service. */
    java.util.Optional<ServiceRevision> find(String service, long revision);
  }
}
