package dev.zlayer.engine.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.service.ObservedReplica.Phase;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class ServicePlannerTest {
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
  private static final Duration SETTLING = Duration.ofSeconds(5);

  private static DesiredReplicas wanted(int replicas, String hash, boolean surge, int unavailable) {
    var slots = new TreeMap<ReplicaId, String>();
    for (int i = 1; i <= replicas; i++) {
      slots.put(slot(i), hash);
    }
    return new DesiredReplicas(
        slots, surge, unavailable, surge ? 1 : 0, SETTLING, true, Map.of(), Set.of());
  }

  private static ReplicaId slot(int replica) {
    return new ReplicaId("default", replica);
  }

  private static ObservedReplica seen(int replica, long generation, String hash, Phase phase) {
    return new ObservedReplica(
        slot(replica),
        generation,
        hash,
        phase,
        phase == Phase.HEALTHY ? Optional.of(NOW.minusSeconds(60)) : Optional.empty());
  }

  private static List<Action> plan(DesiredReplicas wanted, ObservedReplica... seen) {
    return ServicePlanner.plan(wanted, List.of(seen), NOW).actions();
  }

  @Test
  void startsAllThatAreMissingAndLeavesTheRight() {
    assertThat(plan(wanted(3, "a", true, 0), seen(2, 1, "a", Phase.HEALTHY)))
        .containsExactly(new Action.Start(slot(1), "a"), new Action.Start(slot(3), "a"));
  }

  private static DesiredReplicas waiting(Duration pause) {
    DesiredReplicas usual = wanted(1, "a", true, 0);
    return new DesiredReplicas(
            usual.slots(), true, 0, 1, SETTLING, true, Map.of(slot(1), NOW.plus(pause)), Set.of())
        .createdAhead();
  }

  @Test
  void createsTheSuccessorShortlyBeforeItsTimeAndStartsItThen() {
    var due =
        new DesiredReplicas(
                wanted(1, "a", true, 0).slots(), true, 0, 1, SETTLING, true, Map.of(), Set.of())
            .createdAhead();
    ObservedReplica making = seen(1, 2, "a", Phase.PREPARING);
    ObservedReplica made = seen(1, 2, "a", Phase.PREPARED);

    ServicePlanner.Plan early = ServicePlanner.plan(waiting(Duration.ofMinutes(1)), List.of(), NOW);
    assertThat(early.actions()).isEmpty();
    assertThat(early.lookAgain()).contains(NOW.plusSeconds(60).minus(ServicePlanner.AHEAD));
    assertThat(plan(waiting(ServicePlanner.AHEAD)))
        .containsExactly(new Action.Prepare(slot(1), "a"));
    assertThat(plan(waiting(ServicePlanner.AHEAD), making)).isEmpty();
    assertThat(plan(waiting(ServicePlanner.AHEAD), made)).isEmpty();
    assertThat(plan(due, making)).as("one that is being made is waited for").isEmpty();
    assertThat(plan(due, made)).containsExactly(new Action.Release(slot(1), 2));
    assertThat(plan(due, seen(1, 2, "b", Phase.PREPARING)))
        .containsExactly(new Action.Start(slot(1), "a"));
  }

  @Test
  void removesWhatWasCreatedAheadWhenNobodyWaitsForItAnyMore() {
    ObservedReplica made = seen(1, 2, "a", Phase.PREPARED);
    List<Action> removed = List.of(new Action.Remove(slot(1), 2));
    DesiredReplicas soon = waiting(ServicePlanner.AHEAD);
    var halted =
        new DesiredReplicas(
                soon.slots(), true, 0, 1, SETTLING, true, soon.notBefore(), Set.of(slot(1)))
            .createdAhead();
    var closed =
        new DesiredReplicas(soon.slots(), true, 0, 1, SETTLING, false, soon.notBefore(), Set.of())
            .createdAhead();

    assertThat(plan(halted, made)).isEqualTo(removed);
    assertThat(plan(closed, made)).isEqualTo(removed);
    assertThat(plan(wanted(0, "a", true, 0).createdAhead(), made)).isEqualTo(removed);
    assertThat(plan(soon, seen(1, 2, "old", Phase.PREPARED))).isEqualTo(removed);
    assertThat(plan(soon, made, seen(1, 3, "a", Phase.PREPARED))).hasSize(1);
    assertThat(plan(wanted(1, "a", true, 0).createdAhead(), made, seen(1, 3, "a", Phase.RUNNING)))
        .isEqualTo(removed);
    assertThat(plan(wanted(1, "a", true, 0), made))
        .as("not allowed any more")
        .containsExactly(new Action.Start(slot(1), "a"), removed.getFirst());
  }

  @Test
  void createsTheNextOfARollOutWhileTheOneBeforeBecomesHealthy() {
    DesiredReplicas wanted = wanted(3, "b", true, 0).createdAhead();
    ObservedReplica one = seen(1, 1, "a", Phase.HEALTHY);
    ObservedReplica two = seen(2, 2, "a", Phase.HEALTHY);
    ObservedReplica three = seen(3, 3, "a", Phase.HEALTHY);
    ObservedReplica made = seen(2, 5, "b", Phase.PREPARED);

    assertThat(plan(wanted, one, two, three, seen(1, 4, "b", Phase.RUNNING)))
        .containsExactly(new Action.Prepare(slot(2), "b"));
    assertThat(plan(wanted, one, two, three, seen(1, 4, "b", Phase.RUNNING), made)).isEmpty();
    assertThat(plan(wanted, two, three, seen(1, 4, "b", Phase.HEALTHY), made))
        .containsExactly(new Action.Release(slot(2), 5), new Action.Prepare(slot(3), "b"));
    assertThat(plan(wanted(3, "a", true, 0).createdAhead(), one, two, three, made))
        .as("taken back")
        .containsExactly(new Action.Remove(slot(2), 5));
    assertThat(plan(wanted.keepingOld(1), one, two, three, seen(1, 4, "b", Phase.RUNNING)))
        .as("a stage may take days")
        .isEmpty();
  }

  @Test
  void keepsItWhileTheOneBeforeStops() {
    DesiredReplicas wanted = wanted(2, "b", false, 1).createdAhead();
    ObservedReplica two = seen(2, 2, "a", Phase.HEALTHY);
    ObservedReplica made = seen(2, 4, "b", Phase.PREPARED);

    assertThat(plan(wanted, two, seen(1, 3, "b", Phase.RUNNING)))
        .containsExactly(new Action.Prepare(slot(2), "b"));
    assertThat(plan(wanted, two, seen(1, 3, "b", Phase.HEALTHY), made))
        .containsExactly(new Action.Stop(slot(2), 2, "it is outdated"));
    assertThat(plan(wanted, seen(2, 2, "a", Phase.STOPPING), seen(1, 3, "b", Phase.HEALTHY), made))
        .isEmpty();
    assertThat(plan(wanted, seen(1, 3, "b", Phase.HEALTHY), made))
        .containsExactly(new Action.Release(slot(2), 4));
  }

  @Test
  void keepsTheOldOnesWhileARollOutIsWatched() {
    DesiredReplicas one = wanted(2, "b", true, 0).keepingOld(1);
    ObservedReplica first = seen(1, 1, "a", Phase.HEALTHY);
    ObservedReplica second = seen(2, 2, "a", Phase.HEALTHY);

    assertThat(plan(one, first, second)).containsExactly(new Action.Start(slot(1), "b"));
    assertThat(plan(one, first, second, seen(1, 3, "b", Phase.HEALTHY))).isEmpty();
    assertThat(plan(one.keepingOld(2), first, second, seen(1, 3, "b", Phase.HEALTHY)))
        .containsExactly(new Action.Start(slot(2), "b"));
  }

  @Test
  void startsBesideTheOneThatStopsOnlyWhereRequestsWait() {
    DesiredReplicas usual = wanted(1, "a", true, 0);
    var waiting =
        new DesiredReplicas(
            usual.slots(), true, 0, 1, SETTLING, true, false, true, Map.of(), Set.of(), false);

    assertThat(plan(usual, seen(1, 1, "a", Phase.STOPPING))).isEmpty();
    assertThat(plan(waiting, seen(1, 1, "a", Phase.STOPPING)))
        .containsExactly(new Action.Start(slot(1), "a"));
    assertThat(plan(waiting, seen(1, 1, "a", Phase.STOPPING), seen(1, 2, "a", Phase.STARTING)))
        .isEmpty();
  }

  @Test
  void startsTheNewOneBesideTheOldOneAndStopsTheOldOneWhenTheNewOneHasSettled() {
    DesiredReplicas wanted = wanted(2, "b", true, 0);
    ObservedReplica one = seen(1, 1, "a", Phase.HEALTHY);
    ObservedReplica two = seen(2, 2, "a", Phase.HEALTHY);

    assertThat(plan(wanted, one, two)).containsExactly(new Action.Start(slot(1), "b"));
    assertThat(plan(wanted, one, two, seen(1, 3, "b", Phase.STARTING))).isEmpty();
    assertThat(plan(wanted, one, two, seen(1, 3, "b", Phase.RUNNING))).isEmpty();

    var fresh =
        new ObservedReplica(slot(1), 3, "b", Phase.HEALTHY, Optional.of(NOW.minusSeconds(1)));
    ServicePlanner.Plan waiting = ServicePlanner.plan(wanted, List.of(one, two, fresh), NOW);
    assertThat(waiting.actions()).isEmpty();
    assertThat(waiting.lookAgain()).contains(NOW.plusSeconds(4));

    assertThat(plan(wanted, one, two, seen(1, 3, "b", Phase.HEALTHY)))
        .containsExactly(new Action.Stop(slot(1), 1, "it was replaced"));
    assertThat(plan(wanted, two, seen(1, 3, "b", Phase.HEALTHY)))
        .as("the next one")
        .containsExactly(new Action.Start(slot(2), "b"));
  }

  @Test
  void stopsTheOldOneFirstWhenThereIsNoRoomForTwo() {
    DesiredReplicas wanted = wanted(2, "b", false, 1);
    ObservedReplica one = seen(1, 1, "a", Phase.HEALTHY);
    ObservedReplica two = seen(2, 2, "a", Phase.HEALTHY);

    assertThat(plan(wanted, one, two))
        .containsExactly(new Action.Stop(slot(1), 1, "it is outdated"));
    assertThat(plan(wanted, seen(1, 1, "a", Phase.STOPPING), two)).isEmpty();
    assertThat(plan(wanted, two)).containsExactly(new Action.Start(slot(1), "b"));
    assertThat(plan(wanted, two, seen(1, 3, "b", Phase.RUNNING))).isEmpty();
    assertThat(plan(wanted, two, seen(1, 3, "b", Phase.HEALTHY)))
        .containsExactly(new Action.Stop(slot(2), 2, "it is outdated"));
  }

  @Test
  void goesBackByTheSameRules() {
    DesiredReplicas back = wanted(2, "a", true, 0);

    assertThat(
            plan(
                back,
                seen(1, 1, "a", Phase.HEALTHY),
                seen(1, 3, "b", Phase.RUNNING),
                seen(2, 2, "a", Phase.HEALTHY)))
        .containsExactly(new Action.Stop(slot(1), 3, "it was replaced"));
  }

  @Test
  void aThirdVersionDoesNotWaitForTheSecond() {
    assertThat(
            plan(
                wanted(1, "c", true, 0),
                seen(1, 1, "a", Phase.HEALTHY),
                seen(1, 2, "b", Phase.STARTING)))
        .containsExactly(new Action.Stop(slot(1), 2, "it is outdated"));
  }

  @Test
  void nothingOutdatedIsTouchedBeforeTheServiceMayStart() {
    DesiredReplicas open = wanted(2, "b", false, 2);
    DesiredReplicas waiting =
        new DesiredReplicas(
            open.slots(), false, 2, 0, SETTLING, false, open.notBefore(), open.halted());

    assertThat(plan(waiting, seen(1, 1, "a", Phase.HEALTHY))).isEmpty();
  }

  @Test
  void waitsForTheNextTryAndKeepsWhatWasGivenUp() {
    DesiredReplicas all = wanted(2, "a", true, 0);
    DesiredReplicas wanted =
        new DesiredReplicas(
            all.slots(),
            true,
            0,
            1,
            SETTLING,
            true,
            Map.of(slot(1), NOW.plusSeconds(9)),
            Set.of(slot(2)));

    ServicePlanner.Plan plan =
        ServicePlanner.plan(wanted, List.of(seen(2, 4, "a", Phase.KEPT)), NOW);

    assertThat(plan.actions()).isEmpty();
    assertThat(plan.lookAgain()).contains(NOW.plusSeconds(9));
  }

  @Test
  void removesWhatIsNotWantedAndWhatNeverStarted() {
    assertThat(
            plan(
                wanted(1, "a", true, 0),
                seen(1, 1, "a", Phase.HEALTHY),
                seen(1, 5, "a", Phase.LEFTOVER),
                seen(2, 2, "a", Phase.HEALTHY),
                seen(3, 3, "a", Phase.ENDED)))
        .containsExactlyInAnyOrder(
            new Action.Remove(slot(1), 5),
            new Action.Stop(slot(2), 2, "it is not wanted any more"),
            new Action.Remove(slot(3), 3));
  }
}
