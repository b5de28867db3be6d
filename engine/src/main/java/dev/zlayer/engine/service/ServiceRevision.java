package dev.zlayer.engine.service;

import dev.zlayer.spec.ServiceSpec;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A service as one revision of its deployment wants it.
 *
 * @param directory where relative paths of the file start
 * @param numbers of its replicas when others run on other nodes; from 1 on when absent
 */
public record ServiceRevision(
    long revision, ServiceSpec spec, Path directory, Optional<List<Integer>> numbers) {
  /** All of it runs here. */
  public ServiceRevision(long revision, ServiceSpec spec, Path directory) {
    this(revision, spec, directory, Optional.empty());
  }

  /** Finds what a service was, or is to be, in a revision. */
  @FunctionalInterface
  public interface Lookup {
    /** Empty when the revision is kept no longer, or has no such service. */
    Optional<ServiceRevision> find(String service, long revision);
  }
}
