package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.depend.DependencyStatus;
import dev.zlayer.engine.health.Prober;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.Rotation;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.network.NetworkingSpec;
import java.net.InetAddress;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeSet;

/** What a book looks like from outside: to people, to other services, to the proxy. */
final class ServiceView {
  private final ServiceReconciler reconciler;
  private final DesiredState desired;
  private final Instant now;
  private final ServiceRecord record;
  private final NavigableMap<ReplicaId, String> wanted;

  /** Replicas with a container that is what is wanted and runs; and those where it works too. */
  private final Set<ReplicaId> running = new HashSet<>();

  private final Set<ReplicaId> right = new HashSet<>();
  private final ServiceState state;

  ServiceView(ServiceReconciler reconciler, Instant now) {
    this.reconciler = reconciler;
    this.desired = reconciler.desired;
    this.now = now;
    this.record = reconciler.record();
    this.wanted = desired.slots();
    for (TrackedContainer live : reconciler.lives.values()) {
      if (desired.current(live) && live.running()) {
        running.add(live.slot);
        if (live.ready()) {
          right.add(live.slot);
        }
      }
    }
    this.state = state();
  }

  /**
   * What is shown.
   *
   * @param trouble why an endpoint is not served
   * @param attempts to publish that failed one after the other; the first may only have come too
   *     early, while another service still gives up the port
   */
  ServiceStatus status(Optional<Failure> trouble, int attempts) {
    return new ServiceStatus(
        record.key(),
        state == ServiceState.RUNNING && attempts > 0 ? ServiceState.DEGRADED : state,
        record.desired(),
        wanted.size(),
        ready(),
        replicas(),
        desired.spec().map(spec -> spec.networking().endpoints()).orElse(List.of()),
        desired.leaving() == DesiredState.Leaving.NO ? desired.waitingFor() : Optional.empty(),
        rollout(),
        lastError(trouble),
        reconciler.lives.values().stream().anyMatch(this::settling),
        desired.leaving() == DesiredState.Leaving.NO && attempts > 1 ? trouble : Optional.empty(),
        reconciler.load);
  }

  private boolean settling(TrackedContainer live) {
    return live.ready() && now.isBefore(desired.settledAt(live));
  }

  /** Of two containers of one replica, the old and the new one, only one counts. */
  private int ready() {
    return (int)
        reconciler.lives.values().stream()
            .filter(TrackedContainer::ready)
            .map(live -> live.slot)
            .distinct()
            .count();
  }

  private Optional<Failure> lastError(Optional<Failure> trouble) {
    return desired
        .obstacle()
        .or(record::shutdown)
        .or(() -> sound() ? Optional.empty() : record.lastError())
        .or(() -> trouble)
        .or(record::lastError);
  }

  private boolean sound() {
    return state == ServiceState.RUNNING || state == ServiceState.IDLE;
  }

  private ServiceState state() {
    if (desired.leaving() != DesiredState.Leaving.NO) {
      return ServiceState.REMOVING;
    }
    if (desired.obstacle().isPresent() || record.shutdown().isPresent()) {
      return ServiceState.FAILED;
    }
    if (!desired.known() && !record.stopped()) {
      return ServiceState.DEPLOYING; // nobody has looked yet
    }
    if (desired.idle()) {
      return ServiceState.IDLE;
    }
    if (wanted.isEmpty()) {
      return reconciler.lives.isEmpty() ? ServiceState.STOPPED : ServiceState.DEPLOYING;
    }
    if (desired.waitingFor().isPresent()) {
      return ServiceState.WAITING;
    }
    boolean proven = record.good().equals(Optional.of(record.desired()));
    if (right() == wanted.size() && !desired.pending()) {
      return proven && !desired.surplus(reconciler.lives.values())
          ? ServiceState.RUNNING
          : ServiceState.DEPLOYING;
    }
    List<ReplicaRecord> slots = wanted.keySet().stream().map(record::slot).toList();
    boolean givenUp =
        slots.stream().anyMatch(slot -> slot.halted() && slot.halt() != ReplicaRecord.Halt.DONE);
    if (givenUp) {
      boolean serving = reconciler.lives.values().stream().anyMatch(TrackedContainer::ready);
      return serving && proven ? ServiceState.DEGRADED : ServiceState.FAILED;
    }
    if (slots.stream().anyMatch(slot -> slot.failures() >= RestartPolicy.CRASH_LOOP)) {
      return ServiceState.CRASH_LOOP;
    }
    boolean changing = desired.pending() || desired.surplus(reconciler.lives.values());
    return proven && !changing ? ServiceState.DEGRADED : ServiceState.DEPLOYING;
  }

  /** Replicas that are what is wanted and work. */
  private long right() {
    return count(right);
  }

  /** Those that ended well count like those in the set. */
  private long count(Set<ReplicaId> those) {
    return wanted.keySet().stream()
        .filter(slot -> desired.done(slot) || those.contains(slot))
        .count();
  }

  private Optional<RolloutStatus> rollout() {
    boolean on = record.good().isPresent() && !record.good().equals(Optional.of(record.desired()));
    boolean leaving = desired.leaving() != DesiredState.Leaving.NO;
    if (leaving || (record.takenBack().isEmpty() && !on)) {
      return Optional.empty();
    }
    return Optional.of(
        new RolloutStatus(
            record.revision(),
            (int) right(),
            wanted.size(),
            reconciler.rollout.text(reconciler.lives.values()),
            record.takenBack().map(_ -> record.desired()),
            record.takenBack()));
  }

  private List<ReplicaStatus> replicas() {
    var replicas = new ArrayList<ReplicaStatus>();
    Set<ReplicaId> missing = new TreeSet<>(wanted.keySet());
    reconciler.lives.values().stream()
        .filter(live -> !live.ahead())
        .forEach(
            live -> {
              replicas.add(replica(live));
              missing.remove(live.slot);
            });
    missing.forEach(slot -> replicas.add(missing(slot)));
    replicas.sort(
        Comparator.comparing((ReplicaStatus one) -> one.id().role())
            .thenComparingInt(one -> one.id().replica())
            .thenComparingLong(one -> one.id().generation()));
    return replicas;
  }

  private ReplicaStatus missing(ReplicaId slot) {
    ReplicaRecord remembered = record.slot(slot);
    ServiceKey key = record.key();
    return new ReplicaStatus(
        new ContainerId(
            key.deployment(), key.service(), slot.role(), slot.replica(), record.generation() + 1),
        remembered.halted() ? ReplicaState.EXITED : ReplicaState.WAITING,
        record.desired(),
        Optional.empty(),
        false,
        false,
        remembered.restarts(),
        desired.spec().map(spec -> spec.image().name().familiar()).orElse(""),
        Optional.empty(),
        Optional.empty(),
        List.of(),
        Optional.empty(),
        remembered.notBefore(),
        remembered.lastError());
  }

  private ReplicaStatus replica(TrackedContainer live) {
    ReplicaRecord remembered = record.slot(live.slot);
    Optional<ContainerDetails> details = details(live);
    boolean alive = live.status().alive();
    return new ReplicaStatus(
        live.id,
        state(live, remembered),
        live.revision,
        alive ? Optional.of(live.health) : Optional.empty(),
        live.ready(),
        desired.current(live),
        remembered.restarts(),
        details
            .map(known -> known.spec().image().familiar())
            .or(() -> desired.spec().map(spec -> spec.image().name().familiar()))
            .orElse(""),
        details.flatMap(ContainerDetails::imageDigest),
        details.flatMap(ContainerDetails::ip),
        details.map(ContainerDetails::ports).orElse(List.of()),
        alive ? Optional.of(live.startedAt(now)) : Optional.empty(),
        Optional.empty(),
        remembered.lastError());
  }

  private static Optional<ContainerDetails> details(TrackedContainer live) {
    try {
      return Optional.ofNullable(live.handle).map(container -> container.inspect());
    } catch (AgentException _) {
      // it is being removed
      return Optional.empty();
    }
  }

  private static ReplicaState state(TrackedContainer live, ReplicaRecord remembered) {
    return switch (live.busy) {
      case PREPARING -> ReplicaState.WAITING;
      case STARTING -> ReplicaState.STARTING;
      case STOPPING, REMOVING -> ReplicaState.STOPPING;
      case NO -> {
        if (live.status().alive()) {
          yield ReplicaState.RUNNING;
        }
        yield remembered.halt() == ReplicaRecord.Halt.ISOLATED
            ? ReplicaState.ISOLATED
            : live.status() instanceof ContainerStatus.Created
                ? ReplicaState.WAITING
                : ReplicaState.EXITED;
      }
    };
  }

  DependencyStatus signal(boolean led) {
    long started = count(running);
    int needed = Math.max(1, wanted.size() - desired.lifecycle().update().unavailable());
    boolean idle = state == ServiceState.IDLE; // whoever sends it a request is served
    boolean healthy = idle || (right() >= needed && !wanted.isEmpty());
    Optional<String> failed =
        switch (state) {
          case FAILED, CRASH_LOOP ->
              Optional.of(lastError(Optional.empty()).map(Failure::message).orElse("it failed"));
          case STOPPED -> Optional.of("it is stopped");
          case WAITING, DEPLOYING, RUNNING, DEGRADED, IDLE, REMOVING -> Optional.empty();
        };
    return new DependencyStatus(
        record.desired(),
        idle || (!wanted.isEmpty() && started == wanted.size()),
        healthy,
        healthy && led,
        false,
        healthy ? Optional.empty() : failed,
        record.revision(),
        record.takenBack().map(reason -> "it was rolled back: " + reason.message()),
        false);
  }

  /** Of two sets of replicas, the new and the old ones, one may have to get fewer requests. */
  private RolloutPlanner.Weights weights() {
    StagedRollout rollout = reconciler.rollout;
    OptionalDouble share = rollout.share();
    if (share.isEmpty()) {
      return RolloutPlanner.Weights.EQUAL;
    }
    List<TrackedContainer> ready =
        reconciler.lives.values().stream().filter(TrackedContainer::ready).toList();
    int fresh = (int) ready.stream().filter(rollout::isNew).count();
    return RolloutPlanner.weights(share.getAsDouble(), fresh, ready.size() - fresh);
  }

  private Rotation.Member member(
      TrackedContainer live,
      InetAddress address,
      Optional<InetAddress> ipv6,
      RolloutPlanner.Weights weights) {
    int weight = reconciler.rollout.isNew(live) ? weights.fresh() : weights.old();
    return new Rotation.Member(
        live.id, address, ipv6, live.ready() && weight > 0, Math.max(1, weight));
  }

  /** Empty while it is not known of every replica whether it works: the last truth stays. */
  Optional<Rotation.Members> members() {
    if (reconciler.lives.values().stream().anyMatch(TrackedContainer::unjudged)
        || desired.spec().isEmpty()) {
      return Optional.empty();
    }
    NetworkingSpec networking = desired.spec().map(ServiceSpec::networking).orElseThrow();
    var members = new ArrayList<Rotation.Member>();
    RolloutPlanner.Weights weights = weights();
    for (TrackedContainer live : reconciler.lives.values()) {
      Container handle = live.handle;
      if (handle == null || !live.status().alive()) {
        continue;
      }
      try {
        Prober.address(handle)
            .ifPresent(address -> members.add(member(live, address, handle.ipv6(), weights)));
      } catch (AgentException.NotFound _) {
        // removed meanwhile
      }
    }
    members.sort(
        Comparator.comparing((Rotation.Member member) -> member.id().role())
            .thenComparingInt(member -> member.id().replica())
            .thenComparingLong(member -> member.id().generation()));
    return Optional.of(
        new Rotation.Members(
            record.key(), networking.endpoints(), networking.localhostReachability(), members));
  }
}
