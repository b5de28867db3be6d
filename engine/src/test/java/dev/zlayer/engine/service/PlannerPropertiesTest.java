package dev.zlayer.engine.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.service.ObservedReplica.Phase;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random histories of requests, deaths and recoveries; what must hold in every step of them. */
class PlannerPropertiesTest {
  private static final int HISTORIES = 400;
  private static final int STEPS = 120;

  /** A machine that does what the planner says, at its own pace. */
  private static final class Machine {
    final Random random;
    final List<ObservedReplica> containers = new ArrayList<>();
    Instant now = Instant.parse("2026-01-01T00:00:00Z");
    long generation;
    DesiredReplicas wanted;

    Machine(Random random) {
      this.random = random;
      request();
    }

    void request() {
      int replicas = random.nextInt(6);
      var slots = new TreeMap<ReplicaId, String>();
      String hash = String.valueOf((char) ('a' + random.nextInt(4)));
      for (int i = 1; i <= replicas; i++) {
        slots.put(new ReplicaId("default", i), hash);
      }
      boolean surges = random.nextBoolean();
      Set<ReplicaId> halted = new HashSet<>();
      if (random.nextInt(6) == 0) {
        halted.add(new ReplicaId("default", 1));
      }
      Map<ReplicaId, Instant> notBefore = new HashMap<>();
      if (random.nextInt(6) == 0) {
        notBefore.put(new ReplicaId("default", 2), now.plusSeconds(random.nextInt(20)));
      }
      wanted =
          new DesiredReplicas(
              slots,
              surges,
              surges ? random.nextInt(2) : 1 + random.nextInt(2),
              surges ? 1 + random.nextInt(2) : 0,
              Duration.ofSeconds(random.nextInt(6)),
              random.nextInt(8) != 0,
              notBefore,
              halted);
      if (random.nextBoolean()) {
        wanted = wanted.createdAhead();
      }
    }

    /** Everything may happen from here on, and nothing else is asked for. */
    void calm() {
      wanted =
          new DesiredReplicas(
              wanted.slots(),
              wanted.maySurge(),
              wanted.unavailable(),
              wanted.surge(),
              wanted.settling(),
              true,
              Map.of(),
              Set.of());
      if (random.nextBoolean()) {
        wanted = wanted.createdAhead();
      }
      containers.replaceAll(one -> one.phase() == Phase.KEPT ? with(one, Phase.ENDED) : one);
    }

    void happen(boolean kindly) {
      now = now.plusSeconds(1 + random.nextInt(3));
      containers.removeIf(one -> one.phase() == Phase.STOPPING && random.nextInt(2) == 0);
      containers.replaceAll(one -> random.nextInt(2) == 0 ? one : moved(one, kindly));
    }

    private ObservedReplica moved(ObservedReplica one, boolean kindly) {
      boolean bad = !kindly && random.nextInt(3) == 0;
      return switch (one.phase()) {
        case STARTING -> with(one, bad ? Phase.ENDED : Phase.RUNNING);
        case RUNNING -> with(one, bad ? Phase.CONDEMNED : Phase.HEALTHY);
        case HEALTHY -> bad ? with(one, anyOf(Phase.ENDED, Phase.CONDEMNED, Phase.RUNNING)) : one;
        case ENDED -> bad ? with(one, Phase.KEPT) : one;
        case PREPARING -> with(one, bad ? Phase.LEFTOVER : Phase.PREPARED);
        case PREPARED -> bad ? with(one, Phase.LEFTOVER) : one;
        case CONDEMNED, STOPPING, LEFTOVER, KEPT -> one;
      };
    }

    private Phase anyOf(Phase... phases) {
      return phases[random.nextInt(phases.length)];
    }

    private ObservedReplica with(ObservedReplica one, Phase phase) {
      Optional<Instant> since =
          phase == Phase.HEALTHY ? Optional.of(now) : Optional.<Instant>empty();
      return new ObservedReplica(one.slot(), one.generation(), one.hash(), phase, since);
    }

    void carryOut(Action action) {
      switch (action) {
        case Action.Start(ReplicaId slot, String hash) -> {
          boolean crash = random.nextInt(20) == 0;
          containers.add(
              new ObservedReplica(
                  slot,
                  ++generation,
                  hash,
                  crash ? Phase.LEFTOVER : Phase.STARTING,
                  Optional.empty()));
        }
        case Action.Prepare(ReplicaId slot, String hash) ->
            containers.add(
                new ObservedReplica(slot, ++generation, hash, Phase.PREPARING, Optional.empty()));
        case Action.Release(ReplicaId slot, long which) ->
            containers.replaceAll(
                one ->
                    one.slot().equals(slot) && one.generation() == which
                        ? with(one, Phase.STARTING)
                        : one);
        case Action.Stop(ReplicaId slot, long which, _) ->
            containers.replaceAll(
                one ->
                    one.slot().equals(slot) && one.generation() == which
                        ? with(one, Phase.STOPPING)
                        : one);
        case Action.Remove(ReplicaId slot, long which) ->
            containers.removeIf(one -> one.slot().equals(slot) && one.generation() == which);
      }
    }

    long serving() {
      return containers.stream()
          .filter(one -> one.healthy() && wanted.slots().containsKey(one.slot()))
          .map(ObservedReplica::slot)
          .distinct()
          .count();
    }

    long live(ReplicaId slot) {
      return containers.stream().filter(one -> one.slot().equals(slot) && one.live()).count();
    }

    /** Live containers beyond the first of their slot. */
    long excess() {
      return containers.stream()
          .map(ObservedReplica::slot)
          .distinct()
          .mapToLong(slot -> Math.max(0, live(slot) - 1))
          .sum();
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 20260101, 77})
  void holdInEveryStep(long seed) {
    for (int history = 0; history < HISTORIES; history++) {
      var machine = new Machine(new Random(seed * 10_000 + history));
      String name = "seed %d, history %d".formatted(seed, history);
      for (int step = 0; step < STEPS; step++) {
        if (machine.random.nextInt(15) == 0) {
          machine.request();
        }
        machine.happen(false);
        step(machine, name + ", step " + step);
      }
      machine.calm();
      for (int step = 0; step < STEPS; step++) {
        machine.happen(true);
        step(machine, name + ", calm step " + step);
      }
      assertConverged(machine, name);
    }
  }

  private static void step(Machine machine, String name) {
    long serving = machine.serving();
    long floor = machine.wanted.slots().size() - machine.wanted.unavailable();
    List<Action> actions =
        ServicePlanner.plan(machine.wanted, List.copyOf(machine.containers), machine.now).actions();
    assertThat(actions).as(name).doesNotHaveDuplicates();
    for (Action action : actions) {
      if (action instanceof Action.Release(ReplicaId slot, long generation)) {
        assertThat(machine.containers)
            .as(name)
            .anyMatch(
                one ->
                    one.slot().equals(slot)
                        && one.generation() == generation
                        && one.phase() == Phase.PREPARED
                        && one.hash().equals(machine.wanted.slots().get(slot)));
      }
      if (action instanceof Action.Prepare(ReplicaId slot, String hash)) {
        assertThat(machine.wanted.ahead() && machine.wanted.mayStart()).as(name).isTrue();
        assertThat(machine.wanted.slots()).as(name).containsEntry(slot, hash);
        assertThat(machine.containers)
            .as(name + ": one ahead of each replica")
            .noneMatch(one -> one.slot().equals(slot) && one.ahead());
      }
      if (begun(machine, action) instanceof Action.Start(ReplicaId slot, String hash)) {
        assertThat(machine.wanted.mayStart()).as(name).isTrue();
        assertThat(machine.wanted.slots()).as(name).containsEntry(slot, hash);
        assertThat(machine.wanted.halted()).as(name).doesNotContain(slot);
        assertThat(machine.containers)
            .as(name + ": one identity, one container")
            .noneMatch(one -> one.slot().equals(slot) && one.hash().equals(hash) && one.live());
        assertThat(machine.live(slot))
            .as(name)
            .isLessThanOrEqualTo(machine.wanted.maySurge() ? 1 : 0);
      }
      long excess = machine.excess();
      machine.carryOut(action);
      assertThat(machine.excess())
          .as(name + ": never more than allowed")
          .isLessThanOrEqualTo(Math.max(excess, machine.wanted.surge()));
    }
    assertThat(machine.serving())
        .as(name + ": never fewer healthy than allowed")
        .isGreaterThanOrEqualTo(Math.min(serving, floor));
  }

  /** A release is bound by all that binds a start. */
  private static Action begun(Machine machine, Action action) {
    return action instanceof Action.Release(ReplicaId slot, long _)
        ? new Action.Start(slot, machine.wanted.slots().getOrDefault(slot, ""))
        : action;
  }

  private static void assertConverged(Machine machine, String name) {
    assertThat(machine.containers).as(name).allMatch(ObservedReplica::healthy);
    var found = new TreeMap<ReplicaId, String>();
    machine.containers.forEach(one -> found.put(one.slot(), one.hash()));
    assertThat(found).as(name).isEqualTo(machine.wanted.slots());
    assertThat(machine.containers).as(name).hasSameSizeAs(found.keySet());
  }
}
