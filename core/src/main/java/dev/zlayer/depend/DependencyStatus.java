package dev.zlayer.depend;

import java.util.Optional;

/**
 * What a service or job tells those who wait for it.
 *
 * @param revision the revision that the rest is about
 * @param ready healthy, and led to by the proxy
 * @param completed a job has ended with success
 * @param failed why it will not get there by itself
 * @param asked the revision that is wanted of it
 * @param refused why that one was taken back
 * @param gone nothing of it is left
 */
public record DependencyStatus(
    long revision,
    boolean started,
    boolean healthy,
    boolean ready,
    boolean completed,
    Optional<String> failed,
    long asked,
    Optional<String> refused,
    boolean gone) {
  public static DependencyStatus nothing(long revision) {
    return of(revision, false, Optional.empty(), false);
  }

  public static DependencyStatus started(long revision) {
    return of(revision, true, Optional.empty(), false);
  }

  public static DependencyStatus failed(long revision, String reason) {
    return of(revision, false, Optional.of(reason), false);
  }

  public static DependencyStatus left(long revision) {
    return of(revision, false, Optional.empty(), true);
  }

  public static DependencyStatus completed(long revision) {
    return new DependencyStatus(
        revision, true, false, false, true, Optional.empty(), revision, Optional.empty(), false);
  }

  private static DependencyStatus of(
      long revision, boolean started, Optional<String> failed, boolean gone) {
    return new DependencyStatus(
        revision, started, false, false, false, failed, revision, Optional.empty(), gone);
  }

  /** Why {@code wanted} will not be reached. */
  Optional<String> failed(long wanted) {
    return revision >= wanted ? failed : refused.filter(_ -> asked >= wanted);
  }
}
