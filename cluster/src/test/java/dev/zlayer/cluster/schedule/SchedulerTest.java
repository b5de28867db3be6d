package dev.zlayer.cluster.schedule;

import static dev.zlayer.cluster.schedule.Views.GIB;
import static dev.zlayer.cluster.schedule.Views.cpu;
import static dev.zlayer.cluster.schedule.Views.gpuDemand;
import static dev.zlayer.cluster.schedule.Views.gpus;
import static dev.zlayer.cluster.schedule.Views.kind;
import static dev.zlayer.cluster.schedule.Views.labels;
import static dev.zlayer.cluster.schedule.Views.mode;
import static dev.zlayer.cluster.schedule.Views.node;
import static dev.zlayer.cluster.schedule.Views.status;
import static dev.zlayer.cluster.schedule.Views.with;
import static dev.zlayer.cluster.schedule.Views.workload;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.schedule.NodeFacts.Status;
import dev.zlayer.cluster.schedule.Placement.Current;
import dev.zlayer.cluster.schedule.Placement.State;
import dev.zlayer.oci.Platform;
import dev.zlayer.spec.placement.Affinity;
import dev.zlayer.spec.placement.PlacementSpec.NodeMode;
import dev.zlayer.spec.resources.GpuSpec;
import dev.zlayer.spec.resources.GpuSpec.Sharing;
import dev.zlayer.spec.value.Transport;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SchedulerTest {
  private static final Constraints ARM =
      new Constraints(
          List.of(Platform.of("linux", "arm64")),
          Optional.empty(),
          Map.of(),
          Map.of(),
          new Affinity.Spread());

  private final Views views = new Views();

  @Test
  void spreadsOverTheNodesAndPacksOntoTheFullest() {
    views.add(node("a"), node("b"), node("c"));
    views.add(workload("shop/web", 3), with(workload("shop/zip", 4), new Affinity.Pack()));
    views.converge();

    assertThat(views.where("shop/web")).containsExactlyInAnyOrder("a", "b", "c");
    assertThat(views.where("shop/zip")).containsExactlyInAnyOrder("a", "a", "a", "b");
  }

  @Test
  void replicasThatAskForNothingSpreadOverTheNodesTheSame() {
    views.add(node("a"), node("b"));
    IntStream.range(0, 10).forEach(i -> views.add(with(workload("shop/s" + i, 1), Demand.NOTHING)));
    views.converge();

    assertThat(views.current.stream().map(one -> one.placement().node()).filter("a"::equals))
        .hasSize(5);
  }

  @Test
  void whatFitsStaysWhenNodesJoin() {
    views.add(node("a")).add(workload("shop/web", 4));
    views.converge();
    views.add(node("b"), node("c"));

    assertThat(views.plan().steps()).isEmpty();
  }

  @Test
  void aFullClusterNamesTheFiltersAndBothRemediesAndPlacesWhenANodeJoins() {
    views.add(node("a"), status(node("b"), Status.CORDONED)).add(workload("shop/web", 5));
    Plan plan = views.apply();

    assertThat(plan.unplaced()).hasSize(1);
    assertThat(plan.unplaced().getFirst().removed())
        .containsExactlyInAnyOrderEntriesOf(Map.of(Filter.STATUS, 1, Filter.CPU, 1));
    assertThat(plan.unplaced().getFirst().reason())
        .isEqualTo(
            "service 'shop/web' cannot be placed: none of 2 nodes fits (1 cordoned or draining,"
                + " 1 with less than 1 cpus free (at most 0)): free resources on a node or ask for"
                + " less, or add a node with 1 cpus and 0 MiB of memory to the cluster");

    views.settle();
    views.add(node("c"));
    assertThat(views.apply().unplaced()).isEmpty();
    assertThat(views.placement("shop/web", 5).orElseThrow().node()).isEqualTo("c");
  }

  @Test
  void aPlatformThatNoNodeServesIsTheSeedsErrorWithBothRemedies() {
    views.add(node("a"), node("b")).add(with(workload("shop/web", 1), ARM));

    assertThat(views.plan().unplaced().getFirst().reason())
        .startsWith(
            "service 'shop/web' needs a node that runs linux: none of 2 nodes fits (2 without a"
                + " runtime for linux/arm64): enable a runtime for linux")
        .endsWith(" on a node, or add a peer that runs linux to the cluster");
  }

  @Test
  void aNodeThatAnswersRouteToPeerIsNotAskedAgainUntilItChanges() {
    views.add(node("a"), node("b")).add(workload("shop/web", 1));
    views.apply();
    Placement first = views.current.getFirst().placement();
    views.current.clear();
    views.current.add(new Current(first, State.REFUSED, false));
    views.refusals.add(
        new ClusterView.Refusal("shop/web", "r1", first.node(), 1, "needs a node that runs linux"));
    Plan moved = views.apply();

    assertThat(moved.steps())
        .contains(new Plan.Step.Withdraw(first, Plan.Cause.REFUSED))
        .hasSize(2);
    assertThat(views.current.getLast().placement().node()).isNotEqualTo(first.node());

    views.current.clear();
    views.nodes.keySet().removeIf(id -> !id.equals(first.node()));
    assertThat(views.plan().unplaced().getFirst().removed()).containsKey(Filter.REFUSED);
    views.add(status(node(first.node()), Status.READY)); // registered anew, with another revision
    assertThat(views.plan().unplaced()).isEmpty();
  }

  @Test
  void selectorsPinsAndRuntimesAreConditionsAndPreferredLabelsOnlyBetter() {
    views.add(node("a"), labels(node("b"), Map.of("disk", "ssd", "zone", "1")), node("c"));
    var ssd =
        new Constraints(
            List.of(), Optional.empty(), Map.of("disk", "ssd"), Map.of(), new Affinity.Spread());
    var prefer =
        new Constraints(
            List.of(), Optional.empty(), Map.of(), Map.of("zone", "1"), new Affinity.Spread());
    var wasm =
        new Constraints(List.of(), Optional.of("wasm"), Map.of(), Map.of(), new Affinity.Spread());
    views.add(
        with(with(workload("ssd", 2), cpu(100)), ssd),
        with(with(workload("prefer", 2), cpu(100)), prefer),
        with(with(workload("x-much", 1), cpu(3900)), prefer),
        with(workload("wasm", 1), wasm),
        with(with(workload("id", 2), cpu(100)), new Affinity.Pin("id=c")),
        with(with(workload("name", 1), cpu(100)), new Affinity.Pin("id=host-a")),
        with(with(workload("label", 1), cpu(100)), new Affinity.Pin("zone=1")),
        with(workload("nobody", 1), new Affinity.Pin("zone=2")));
    Plan plan = views.apply();

    assertThat(views.where("ssd")).containsExactly("b", "b");
    assertThat(views.where("id")).containsExactly("c", "c");
    assertThat(views.where("name")).containsExactly("a");
    assertThat(views.where("label")).containsExactly("b");
    assertThat(views.where("prefer")).contains("b");
    assertThat(views.where("x-much")).doesNotContain("b").hasSize(1);
    assertThat(plan.unplaced())
        .extracting(one -> one.replica().workload(), Plan.Unplaced::removed)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple("nobody", Map.of(Filter.PIN, 3)),
            org.assertj.core.groups.Tuple.tuple("wasm", Map.of(Filter.RUNTIME, 3)));
  }

  @Test
  void dedicatedHasOneReplicaPerNodeAndExclusiveKeepsOthersAway() {
    views.add(node("a"), node("b"), node("c"));
    views.add(with(workload("alone", 1), mode(NodeMode.EXCLUSIVE)));
    views.converge();
    String taken = views.where("alone").getFirst();
    views.add(
        with(workload("each", 3), mode(NodeMode.DEDICATED)),
        with(workload("other", 4), Demand.NOTHING));
    Plan plan = views.apply();

    assertThat(views.where("each")).hasSize(2).doesNotHaveDuplicates().doesNotContain(taken);
    assertThat(views.where("other")).hasSize(4).doesNotContain(taken);
    assertThat(plan.unplaced().getFirst().removed()).isEqualTo(Map.of(Filter.MODE, 3));
  }

  @Test
  void hostPortsAreUsedOncePerNode() {
    views.add(node("a"), node("b"));
    Demand port =
        new Demand(
            0,
            0,
            Optional.empty(),
            Set.of(new HostPort(80, Transport.TCP)),
            Set.of(),
            NodeMode.SHARED);
    views.add(with(workload("web", 3), port));
    Plan plan = views.apply();

    assertThat(views.where("web")).containsExactlyInAnyOrder("a", "b");
    assertThat(plan.unplaced().getFirst().reason()).contains("2 with a host port in use (80/tcp)");
  }

  @Test
  void replicasFollowTheirVolumeAndDoNotStartWithoutItWhenItsNodeIsLost() {
    views.add(node("a"), node("b"), node("c"));
    Demand data =
        new Demand(100, 0, Optional.empty(), Set.of(), Set.of("shop/data"), NodeMode.SHARED);
    views.add(with(workload("db", 2), data));
    views.converge();
    String holder = views.where("db").getFirst();
    assertThat(views.where("db")).containsExactly(holder, holder);

    views.nodes.remove(holder);
    Plan plan = views.apply();
    assertThat(plan.steps()).isEmpty();
    assertThat(plan.unplaced().getFirst().reason())
        .contains("volume 'shop/data' is on node " + holder + ", which is lost");
  }

  @Test
  void replicasOfALostNodeRunElsewhereAndItsAssignmentsAreWithdrawn() {
    views.add(node("a"), node("b"), node("c")).add(workload("web", 3));
    views.converge();
    views.nodes.remove("b");
    Plan plan = views.apply();

    assertThat(plan.steps())
        .extracting(step -> step.getClass().getSimpleName())
        .containsExactly("Assign", "Withdraw");
    assertThat(views.where("web")).hasSize(3).doesNotContain("b");
  }

  @Test
  void aSingleInstanceWaitsForTheClaimOfALostNode() {
    views.add(node("a"), node("b")).add(kind(workload("one", 1), false, true));
    views.converge();
    Placement held = views.current.getFirst().placement();
    views.nodes.remove(held.node());
    Plan waiting = views.apply();

    assertThat(waiting.steps()).isEmpty();
    assertThat(waiting.unplaced().getFirst().reason())
        .contains("may still run on node " + held.node());

    views.current.clear();
    views.current.add(new Current(held, State.READY, false));
    assertThat(views.apply().steps())
        .extracting(step -> step.getClass().getSimpleName())
        .containsExactly("Assign", "Withdraw");
  }

  @Test
  void aSingleInstanceOnADrainedNodeStopsBeforeItStartsElsewhere() {
    views.add(node("a"), node("b")).add(kind(workload("one", 1), false, true));
    views.converge();
    String before = views.where("one").getFirst();
    views.add(status(node(before), Status.DRAINING));

    assertThat(views.apply().steps()).singleElement().isInstanceOf(Plan.Step.Withdraw.class);
    assertThat(views.apply().steps()).as("it still stops").isEmpty();
    views.settle();
    views.converge();
    assertThat(views.where("one")).hasSize(1).doesNotContain(before);
  }

  @Test
  void gangsStartAsAWholeOrNotAtAll() {
    views.add(gpus(node("a"), 2), gpus(node("b"), 1));
    views.add(kind(with(workload("train", 4), gpuDemand(1, Sharing.EXCLUSIVE)), true, false));
    views.add(with(workload("use", 1), gpuDemand(1, Sharing.EXCLUSIVE)));
    Plan plan = views.apply();

    assertThat(views.where("train")).isEmpty();
    assertThat(views.where("use")).as("nothing stays reserved for the gang").hasSize(1);
    assertThat(plan.unplaced()).hasSize(4);
    assertThat(plan.unplaced().getFirst().reason())
        .contains("4 missing replicas")
        .endsWith("there is room for 3");

    views.settle();
    views.add(gpus(node("c"), 2));
    views.apply();
    assertThat(views.where("train")).hasSize(4);
  }

  @Test
  void gpusAreGivenByNameAndSharedOnlyInOneWay() {
    views.add(gpus(node("a"), 2));
    views.add(
        with(workload("mps", 9), gpuDemand(1, Sharing.MPS)),
        with(workload("slice", 1), gpuDemand(1, Sharing.TIME_SLICE)));
    Plan plan = views.apply();

    assertThat(
            views.current.stream()
                .map(Current::placement)
                .filter(one -> one.gpus().equals(List.of("0"))))
        .as("eight on the first, before the next is begun")
        .hasSize(8);
    assertThat(plan.unplaced())
        .extracting(one -> one.replica().workload())
        .containsExactly("slice");
  }

  @Test
  void replicasThatComputeTogetherKnowTheirRanks() {
    Workload base = with(workload("shop/train", 2), gpuDemand(1, Sharing.EXCLUSIVE));
    views.add(gpus(node("a"), 1), gpus(node("b"), 1));
    views.add(
        new Workload(
            base.id(),
            "r1",
            2,
            base.demand(),
            base.constraints(),
            base.rollout(),
            true,
            false,
            Optional.of(new Workload.Distributed("train", GpuSpec.Backend.NCCL, 29_500))));
    views.apply();

    assertThat(views.placement("shop/train", 2).orElseThrow().variables())
        .containsEntry("RANK", "1")
        .containsEntry("WORLD_SIZE", "2")
        .containsEntry("LOCAL_RANK", "0")
        .containsEntry("MASTER_ADDR", "1.train")
        .containsEntry("MASTER_PORT", "29500")
        .containsEntry("NCCL_SOCKET_IFNAME", "eth0");
  }

  @Test
  void memoryIsNeverGivenTwice() {
    views.add(node("a"), node("b"));
    views.add(
        with(
            workload("cache", 5),
            new Demand(0, 3 * GIB, Optional.empty(), Set.of(), Set.of(), NodeMode.SHARED)));
    Plan plan = views.apply();

    assertThat(views.where("cache")).hasSize(4);
    assertThat(plan.unplaced().getFirst().reason())
        .contains("2 with less than 3072 MiB of memory free (at most 2048 MiB)");
  }
}
