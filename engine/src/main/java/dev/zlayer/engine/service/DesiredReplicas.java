package dev.zlayer.engine.service;

import dev.zlayer.spec.service.UpdateSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;

/**
 * What the planner aims at.
 *
 * @param slots what the container of each replica has to be made from
 * @param maySurge an old and a new container of a replica can run side by side
 * @param unavailable replicas that may be missing while containers are replaced
 * @param surge containers that may be there in excess meanwhile
 * @param settling how long a new one must have been healthy to count
 * @param mayStart what the service depends on is there
 * @param keepOld old containers stay beside new ones that work
 * @param besideStopping a replica may start while its last container still stops
 * @param notBefore replicas that must not be started yet
 * @param halted replicas that must not be started at all
 * @param ahead containers may be created before their time
 */
record DesiredReplicas(
    NavigableMap<ReplicaId, String> slots,
    boolean maySurge,
    int unavailable,
    int surge,
    Duration settling,
    boolean mayStart,
    boolean keepOld,
    boolean besideStopping,
    Map<ReplicaId, Instant> notBefore,
    Set<ReplicaId> halted,
    boolean ahead) {
  DesiredReplicas {
    slots = Collections.unmodifiableNavigableMap(new TreeMap<>(slots));
    notBefore = Map.copyOf(notBefore);
    halted = Set.copyOf(halted);
  }

  DesiredReplicas(
      NavigableMap<ReplicaId, String> slots,
      boolean maySurge,
      int unavailable,
      int surge,
      Duration settling,
      boolean mayStart,
      Map<ReplicaId, Instant> notBefore,
      Set<ReplicaId> halted) {
    this(
        slots,
        maySurge,
        unavailable,
        surge,
        settling,
        mayStart,
        false,
        false,
        notBefore,
        halted,
        false);
  }

  /** The same, with containers that may be created before their time. */
  DesiredReplicas createdAhead() {
    return new DesiredReplicas(
        slots,
        maySurge,
        unavailable,
        surge,
        settling,
        mayStart,
        keepOld,
        besideStopping,
        notBefore,
        halted,
        true);
  }

  /** The same with old containers that stay, and so many new ones beside them. */
  DesiredReplicas keepingOld(int fresh) {
    return new DesiredReplicas(
        slots, true, 0, fresh, settling, mayStart, true, besideStopping, notBefore, halted, ahead);
  }

  /** Start first where there is room for one more, else stop first. */
  static boolean surges(UpdateSpec update, boolean possible) {
    boolean asked = update.strategy() != UpdateSpec.Strategy.STOP_FIRST;
    return possible && update.surge() > 0 && (asked || update.unavailable() == 0);
  }
}
