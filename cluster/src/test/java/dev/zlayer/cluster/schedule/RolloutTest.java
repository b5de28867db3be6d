package dev.zlayer.cluster.schedule;

import static dev.zlayer.cluster.schedule.Views.cpu;
import static dev.zlayer.cluster.schedule.Views.node;
import static dev.zlayer.cluster.schedule.Views.rolled;
import static dev.zlayer.cluster.schedule.Views.status;
import static dev.zlayer.cluster.schedule.Views.with;
import static dev.zlayer.cluster.schedule.Views.workload;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.schedule.NodeFacts.Status;
import dev.zlayer.cluster.schedule.Placement.Current;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Updates and drains, round by round. */
class RolloutTest {
  private final Views views = new Views();
  private final Workload web = with(workload("web", 6), cpu(500));

  @BeforeEach
  void deploy() {
    views.add(node("a"), node("b"), node("c")).add(web);
    views.converge();
  }

  @Test
  void anUpdateKeepsReplicasOnTheirNodesAndTakesAsManyAtOnceAsItMay() {
    List<String> before = views.where("web");
    views.add(rolled(web, "r2", 2, 0));
    int rounds = 0;
    while (true) {
      Plan plan = views.apply();
      if (plan.steps().isEmpty()) {
        break;
      }
      assertThat(plan.steps()).hasSize(2).allMatch(Plan.Step.Update.class::isInstance);
      assertThat(views.plan().steps()).as("waits until these are ready").isEmpty();
      assertThat(views.current.stream().filter(Current::ready)).hasSize(4);
      views.settle();
      rounds++;
    }

    assertThat(rounds).isEqualTo(3);
    assertThat(views.where("web")).isEqualTo(before);
    assertThat(views.current).allMatch(one -> one.placement().revision().equals("r2"));
  }

  @Test
  void replicasThatAreNotReadyAreUpdatedAtOnce() {
    views.current.replaceAll(one -> new Current(one.placement(), Placement.State.PENDING, false));
    views.add(rolled(web, "r2", 0, 1));

    assertThat(views.plan().steps()).hasSize(6);
  }

  @Test
  void anUpdateThatNoLongerFitsItsNodeMovesAndStartsFirst() {
    views.add(rolled(with(web, cpu(1500)), "r2", 0, 1));
    int least = 6;
    while (!views.apply().steps().isEmpty()) {
      least = Math.min(least, serving());
      views.settle();
    }

    assertThat(least).isGreaterThanOrEqualTo(5);
    assertThat(views.current).hasSize(6);
    assertThat(views.current).allMatch(one -> one.placement().revision().equals("r2"));
  }

  @Test
  void aDrainStartsElsewhereFirstOneAfterTheOtherAndNothingIsMissing() {
    views.add(status(node("b"), Status.DRAINING));
    while (true) {
      Plan plan = views.apply();
      if (plan.steps().isEmpty()) {
        break;
      }
      assertThat(serving()).isEqualTo(6);
      assertThat(plan.steps().stream().filter(Plan.Step.Assign.class::isInstance))
          .hasSizeLessThanOrEqualTo(1);
      views.settle();
    }

    assertThat(views.where("web")).hasSize(6).doesNotContain("b");
  }

  @Test
  void aDrainWithoutSurgeStopsNoMoreThanMayBeMissing() {
    views.add(rolled(web, "r1", 1, 0)).add(status(node("b"), Status.DRAINING));
    while (!views.apply().steps().isEmpty()) {
      assertThat(serving()).isGreaterThanOrEqualTo(5);
      views.settle();
    }

    assertThat(views.where("web")).hasSize(6).doesNotContain("b");
  }

  @Test
  void whatFitsNowhereElseStaysOnTheDrainedNodeWithTheReason() {
    views.add(
        status(node("a"), Status.CORDONED),
        status(node("b"), Status.DRAINING),
        status(node("c"), Status.CORDONED));
    Plan plan = views.apply();

    assertThat(plan.steps()).isEmpty();
    assertThat(plan.unplaced())
        .singleElement()
        .satisfies(
            one -> {
              assertThat(one.removed()).containsEntry(Filter.STATUS, 3);
              assertThat(one.reason()).contains("uncordon a node");
            });
  }

  @Test
  void fewerReplicasEndTheHighestNumbersAndRemovedWorkloadsEndWhole() {
    views.add(with(workload("web", 2), cpu(500)));
    views.converge();
    assertThat(numbers()).containsExactlyInAnyOrder(1, 2);

    views.workloads.clear();
    assertThat(views.apply().steps())
        .hasSize(2)
        .allMatch(
            step ->
                step instanceof Plan.Step.Withdraw(_, var cause) && cause == Plan.Cause.NOT_WANTED);
  }

  @Test
  void aNodeThatReturnsLosesWhatRunsElsewhereByThen() {
    NodeFacts lost = views.nodes.remove("b");
    List<Current> ofLost =
        views.current.stream().filter(one -> one.placement().node().equals("b")).toList();
    views.apply();
    views.settle();
    views.add(lost);
    views.current.addAll(ofLost);
    views.converge();

    assertThat(numbers()).hasSize(6);
    assertThat(views.current).hasSize(6);
  }

  private Set<Integer> numbers() {
    return views.current.stream()
        .map(one -> one.placement().replica().number())
        .collect(Collectors.toSet());
  }

  private int serving() {
    return (int)
        views.current.stream()
            .filter(Current::ready)
            .map(one -> one.placement().replica())
            .distinct()
            .count();
  }
}
