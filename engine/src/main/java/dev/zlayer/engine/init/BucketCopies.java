package dev.zlayer.engine.init;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.engine.s3.S3Failure;
import dev.zlayer.engine.s3.S3Location;
import dev.zlayer.engine.s3.S3Transfer;
import dev.zlayer.engine.translate.BucketMount;
import dev.zlayer.engine.translate.EnvResolver;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Container;
import dev.zlayer.spec.value.SecretRef;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;

/**
 * The copies of buckets that containers mount. Both ways can be gone again from the beginning, so
 * an agent that was killed on the way needs no record of how far it came.
 */
final class BucketCopies {
  private static final int TRIES = 3;
  private static final Backoff BETWEEN_TRIES =
      new Backoff(Duration.ofMillis(500), Duration.ofSeconds(5), 2);

  /** One way of one copy. */
  @FunctionalInterface
  private interface Way {
    String go(S3Transfer transfer, Archivable files) throws InterruptedException;
  }

  private final EnvResolver resolver;
  private final InstantSource clock;
  private final Pauses pauses;

  BucketCopies(EnvResolver resolver, InstantSource clock, Pauses pauses) {
    this.resolver = resolver;
    this.clock = clock;
    this.pauses = pauses;
  }

  void pull(Container made, InitObserver observer) throws InterruptedException {
    ContainerSpec spec = made.spec();
    for (BucketMount mount : BucketMount.of(spec)) {
      Way way =
          (transfer, files) ->
              transfer.pullAll(files, mount.prefix(), mount.target(), S3Action.owner(spec));
      go(mount, "pull ", made, way, observer);
    }
  }

  static boolean pushes(Container ended) {
    return BucketMount.of(ended.spec()).stream().anyMatch(mount -> !mount.readOnly());
  }

  void push(Container ended, InitObserver observer) throws InterruptedException {
    for (BucketMount mount : BucketMount.of(ended.spec())) {
      if (!mount.readOnly()) {
        Way way = (transfer, files) -> transfer.push(files, mount.target(), mount.prefix());
        go(mount, "push ", ended, way, observer);
      }
    }
  }

  private void go(
      BucketMount mount, String doing, Container container, Way way, InitObserver observer)
      throws InterruptedException {
    for (int attempt = 1; ; attempt++) {
      StepReport report = StepReport.begun(doing + mount.storage(), 1, attempt, clock.instant());
      observer.report(report);
      try {
        String done = TimeLimit.within(Deadline.none(), doing, () -> go(mount, container, way));
        observer.report(
            report.ended(
                StepReport.Result.SUCCEEDED, clock.instant(), Optional.empty(), Optional.of(done)));
        return;
      } catch (AgentException | S3Failure e) {
        String reason = String.valueOf(e.getMessage());
        observer.report(
            report.ended(
                StepReport.Result.FAILED, clock.instant(), Optional.of(reason), Optional.empty()));
        if (e instanceof AgentException ours) {
          throw ours;
        }
        if (attempt == TRIES) {
          throw new AgentException.Network("%s%s: %s".formatted(doing, mount.storage(), reason), e);
        }
      }
      pauses.pause(BETWEEN_TRIES.delay(attempt - 1));
    }
  }

  private String go(BucketMount mount, Container container, Way way) throws InterruptedException {
    if (!(container instanceof Archivable files)) {
      throw new AgentException.Unsupported(
          "files cannot be copied between buckets and this kind of container");
    }
    try (var transfer = S3Transfer.open(location(container.id().deployment(), mount))) {
      return way.go(transfer, files);
    }
  }

  private S3Location location(String deployment, BucketMount mount) {
    return new S3Location(
        mount.bucket(),
        mount.endpoint(),
        mount.region(),
        mount.credentials().map(name -> keys(deployment, SecretRef.parse(name))));
  }

  private S3Location.Keys keys(String deployment, SecretRef secret) {
    return new S3Location.Keys(
        field(deployment, secret, "access_key"),
        field(deployment, secret, "secret_key"),
        sessionToken(deployment, secret));
  }

  private Optional<String> sessionToken(String deployment, SecretRef secret) {
    try {
      return Optional.of(field(deployment, secret, "session_token"));
    } catch (AgentException.NotFound _) {
      return Optional.empty(); // lasting keys have none
    }
  }

  private String field(String deployment, SecretRef secret, String name) {
    return resolver.secret(
        deployment, new SecretRef(secret.scope(), secret.name(), Optional.of(name)));
  }
}
