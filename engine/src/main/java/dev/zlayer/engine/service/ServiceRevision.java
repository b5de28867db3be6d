package dev.zlayer.engine.service;

import dev.zlayer.engine.translate.ReplicaSettings;
import dev.zlayer.spec.ServiceSpec;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A service as one revision of its deployment wants it.
 *
 * @param directory where relative paths of the file start
 * @param part of its replicas when others run on other nodes
 */
public record ServiceRevision(
    long revision, ServiceSpec spec, Path directory, Optional<Part> part) {
  /** All of it runs here. */
  public ServiceRevision(long revision, ServiceSpec spec, Path directory) {
    this(revision, spec, directory, Optional.empty());
  }

  /**
   * The replicas of a service that run here.
   *
   * @param numbers by role
   * @param settings by role and number, of those that have any
   */
  public record Part(
      Map<String, List<Integer>> numbers, Map<String, Map<Integer, ReplicaSettings>> settings) {
    public Part {
      numbers = Map.copyOf(numbers);
      settings = Map.copyOf(settings);
    }
  }

  ReplicaSettings settings(ReplicaId replica) {
    return part.map(here -> here.settings().getOrDefault(replica.role(), Map.of()))
        .flatMap(own -> Optional.ofNullable(own.get(replica.replica())))
        .orElse(ReplicaSettings.NONE);
  }

  /** Finds what a service was, or is to be, in a revision. */
  @FunctionalInterface
  public interface Lookup {
    /** Empty when the revision is kept no longer, or has no such service. */
    Optional<ServiceRevision> find(String service, long revision);
  }
}
