package dev.zlayer.engine.service;

import dev.zlayer.container.Claim;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.Claims;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** Whether a service may start, of which only one container may run in the whole cluster. */
final class ClaimGate {
  private static final Duration PAUSE = Duration.ofMillis(500);

  private final Claims claims;
  private Optional<String> obstacle = Optional.empty();

  ClaimGate(Claims claims) {
    this.claims = claims;
  }

  /** The claim of a single instance that a cluster runs. */
  Optional<String> of(ServiceKey key, Optional<ServiceRevision> revision) {
    return revision
        .filter(one -> one.part().isPresent() && one.spec().lifecycle().single())
        .map(_ -> Claim.of(key.deployment(), key.service()));
  }

  /** Asked again and again while the cluster has not given the claim to this node. */
  boolean open(Optional<String> needed, PendingChanges changes, Instant now) {
    obstacle = needed.flatMap(claims::obstacle);
    obstacle.ifPresent(_ -> changes.lookAt(now.plus(PAUSE)));
    return obstacle.isEmpty();
  }

  /** What it waits for, when it was asked last. */
  Optional<String> obstacle() {
    return obstacle;
  }
}
