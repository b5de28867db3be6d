package dev.zlayer.cluster.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.schedule.NodeFacts.Status;
import dev.zlayer.cluster.schedule.Placement.Current;
import dev.zlayer.cluster.schedule.Placement.State;
import dev.zlayer.oci.Platform;
import dev.zlayer.spec.placement.Affinity;
import dev.zlayer.spec.placement.PlacementSpec.NodeMode;
import dev.zlayer.spec.resources.GpuSpec.Sharing;
import dev.zlayer.spec.resources.GpuSpec.Vendor;
import dev.zlayer.spec.value.Transport;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What holds for every plan, over random clusters in which nodes come, go, drain and refuse. */
class SchedulerPropertyTest {
  private static final int CLUSTERS = 150;
  private static final int EVENTS = 12;

  private static final Platform AMD = Platform.of("linux", "amd64");
  private static final Platform ARM = Platform.of("linux", "arm64");

  @Test
  void everyPlanKeepsTheRules() {
    for (int seed = 0; seed < CLUSTERS; seed++) {
      var random = new Random(seed);
      var views = new Views();
      for (int event = 0; event < EVENTS; event++) {
        change(views, random);
        for (int round = 0; round < 3; round++) {
          String at = "seed %d, event %d, round %d".formatted(seed, event, round);
          check(views, random, at);
          views.apply();
          if (random.nextInt(4) > 0) {
            views.settle();
          }
        }
      }
      views.settle();
      views.converge();
      assertThat(views.plan().steps()).as("seed %d: at rest nothing moves", seed).isEmpty();
      complete(views, "seed " + seed);
    }
  }

  private static void check(Views views, Random random, String at) {
    ClusterView view = views.view();
    Plan plan = Scheduler.plan(view);
    assertThat(Scheduler.plan(shuffled(view, random))).as("%s: equal plans", at).isEqualTo(plan);
    var after = new ArrayList<>(view.current().stream().map(Current::placement).toList());
    for (Plan.Step step : plan.steps()) {
      Placement placement = step.placement();
      Workload workload = views.workloads.get(placement.replica().workload());
      switch (step) {
        case Plan.Step.Assign(_, var revision) -> {
          NodeFacts node = views.nodes.get(placement.node());
          assertThat(node).as("%s: %s on a node that is alive", at, placement).isNotNull();
          assertThat(node.revision()).isEqualTo(revision);
          assertThat(node.status()).as("%s: %s", at, placement).isEqualTo(Status.READY);
          allowed(node, workload, views, at);
          after.add(placement);
        }
        case Plan.Step.Update(_, _) -> {
          allowed(views.nodes.get(placement.node()), workload, views, at);
          assertThat(after.removeIf(one -> sameSlot(one, placement)))
              .as("%s: an update stays where it was", at)
              .isTrue();
          after.add(placement);
        }
        case Plan.Step.Withdraw(_, var cause) ->
            assertThat(reasonable(view, views, placement, cause))
                .as("%s: %s withdrawn for %s", at, placement, cause)
                .isTrue();
      }
    }
    capacity(views, view, after, plan, at);
    gangs(views, view, plan, at);
    singles(views, view, plan, at);
    available(views, view, plan, at);
  }

  private static ClusterView shuffled(ClusterView view, Random random) {
    var nodes = new ArrayList<>(view.nodes());
    var workloads = new ArrayList<>(view.workloads());
    var current = new ArrayList<>(view.current());
    Collections.shuffle(nodes, random);
    Collections.shuffle(workloads, random);
    Collections.shuffle(current, random);
    return new ClusterView(nodes, workloads, current, view.refusals(), view.volumes());
  }

  private static void allowed(NodeFacts node, Workload workload, Views views, String at) {
    Constraints constraints = workload.constraints();
    assertThat(
            constraints.platforms().isEmpty()
                || constraints.platforms().stream().anyMatch(node.platforms()::contains))
        .as("%s: platform of %s on %s", at, workload.id(), node.id())
        .isTrue();
    assertThat(node.labels()).as(at).containsAllEntriesOf(constraints.labels());
    if (constraints.affinity() instanceof Affinity.Pin(var selector)) {
      assertThat("id=" + node.id()).as(at).isEqualTo(selector);
    }
    assertThat(views.refusals)
        .as(at)
        .noneMatch(
            one ->
                one.workload().equals(workload.id())
                    && one.revision().equals(workload.revision())
                    && one.node().equals(node.id())
                    && one.nodeRevision() == node.revision());
  }

  private static boolean sameSlot(Placement one, Placement other) {
    return one.replica().equals(other.replica()) && one.node().equals(other.node());
  }

  /** Stable: nothing ends that is wanted, current and on a node that stays. */
  private static boolean reasonable(
      ClusterView view, Views views, Placement placement, Plan.Cause cause) {
    Workload workload = views.workloads.get(placement.replica().workload());
    boolean elsewhere =
        view.current().stream()
            .anyMatch(
                one ->
                    one.placement().replica().equals(placement.replica())
                        && !one.placement().node().equals(placement.node()));
    return switch (cause) {
      case NOT_WANTED -> workload == null || placement.replica().number() > workload.replicas();
      case LOST -> !views.nodes.containsKey(placement.node());
      case REFUSED ->
          view.current().stream()
              .anyMatch(one -> one.placement().equals(placement) && one.state() == State.REFUSED);
      case MOVED ->
          elsewhere
              || views.nodes.get(placement.node()).status() == Status.DRAINING
              || !placement.revision().equals(workload.revision());
    };
  }

  /** What a plan adds never takes a node beyond what it has. */
  private static void capacity(
      Views views, ClusterView view, List<Placement> after, Plan plan, String at) {
    Set<String> changed =
        plan.steps().stream()
            .filter(step -> !(step instanceof Plan.Step.Withdraw))
            .map(step -> step.placement().node())
            .collect(Collectors.toSet());
    for (String id : changed) {
      NodeFacts node = views.nodes.get(id);
      List<Placement> own =
          after.stream()
              .filter(one -> one.node().equals(id))
              .filter(one -> !refused(view, one))
              .toList();
      assertThat(own.stream().mapToLong(one -> one.demand().cpuMillis()).sum())
          .as("%s: cpu of %s", at, id)
          .isLessThanOrEqualTo(node.cpuMillis());
      assertThat(own.stream().mapToLong(one -> one.demand().memoryBytes()).sum())
          .as("%s: memory of %s", at, id)
          .isLessThanOrEqualTo(node.memoryBytes());
      var ports = new HashSet<>(node.ports());
      own.forEach(
          one ->
              one.demand()
                  .ports()
                  .forEach(
                      port ->
                          assertThat(ports.add(port)).as("%s: %s on %s", at, port, id).isTrue()));
      var users = new HashMap<String, List<Sharing>>();
      for (Placement one : own) {
        one.demand()
            .gpus()
            .ifPresent(
                gpus -> {
                  assertThat(one.gpus()).as(at).hasSize(gpus.count()).doesNotHaveDuplicates();
                  one.gpus()
                      .forEach(
                          gpu ->
                              users
                                  .computeIfAbsent(gpu, _ -> new ArrayList<>())
                                  .add(gpus.sharing()));
                });
      }
      users.forEach(
          (gpu, modes) -> {
            assertThat(Set.copyOf(modes)).as("%s: gpu %s of %s", at, gpu, id).hasSize(1);
            assertThat(modes.size()).isLessThanOrEqualTo(modes.contains(Sharing.MPS) ? 8 : 1);
          });
      long exclusive =
          own.stream().filter(one -> one.demand().mode() == NodeMode.EXCLUSIVE).count();
      assertThat(exclusive == 0 || own.size() == 1).as("%s: exclusive on %s", at, id).isTrue();
    }
  }

  private static boolean refused(ClusterView view, Placement placement) {
    return view.current().stream()
        .anyMatch(one -> one.placement().equals(placement) && one.state() == State.REFUSED);
  }

  private static void gangs(Views views, ClusterView view, Plan plan, String at) {
    for (Workload workload : views.workloads.values()) {
      if (workload.gang()) {
        boolean placed =
            plan.steps().stream()
                .anyMatch(
                    step ->
                        step instanceof Plan.Step.Assign(var placement, _)
                            && placement.replica().workload().equals(workload.id())
                            && live(view, placement.replica()) == 0);
        boolean failed =
            plan.unplaced().stream()
                .anyMatch(
                    one ->
                        one.replica().workload().equals(workload.id())
                            && live(view, one.replica()) == 0);
        assertThat(placed && failed).as("%s: gang %s", at, workload.id()).isFalse();
      }
    }
  }

  private static long live(ClusterView view, Placement.Replica replica) {
    Set<String> alive = view.nodes().stream().map(NodeFacts::id).collect(Collectors.toSet());
    return view.current().stream()
        .filter(one -> one.placement().replica().equals(replica))
        .filter(one -> one.live() && alive.contains(one.placement().node()))
        .count();
  }

  private static void singles(Views views, ClusterView view, Plan plan, String at) {
    for (Plan.Step step : plan.steps()) {
      Workload workload = views.workloads.get(step.placement().replica().workload());
      if (step instanceof Plan.Step.Assign && workload.singleInstance()) {
        assertThat(view.current())
            .as("%s: %s may run once", at, workload.id())
            .noneMatch(
                one -> one.placement().replica().workload().equals(workload.id()) && one.claimed());
      }
    }
  }

  /** A plan takes no more ready replicas out of service than the roll-out allows. */
  private static void available(Views views, ClusterView view, Plan plan, String at) {
    for (Workload workload : views.workloads.values()) {
      Set<String> alive = views.nodes.keySet();
      Set<Integer> ready = new HashSet<>();
      Map<Integer, Integer> serving = new HashMap<>();
      for (Current one : view.current()) {
        if (one.placement().replica().workload().equals(workload.id())
            && one.placement().replica().number() <= workload.replicas()
            && one.ready()
            && alive.contains(one.placement().node())) {
          ready.add(one.placement().replica().number());
          serving.merge(one.placement().replica().number(), 1, Integer::sum);
        }
      }
      for (Plan.Step step : plan.steps()) {
        boolean ends = !(step instanceof Plan.Step.Assign);
        boolean was =
            view.current().stream()
                .anyMatch(one -> one.ready() && sameSlot(one.placement(), step.placement()));
        if (ends && was && step.placement().replica().workload().equals(workload.id())) {
          serving.computeIfPresent(step.placement().replica().number(), (_, n) -> n - 1);
        }
      }
      long taken = ready.stream().filter(number -> serving.getOrDefault(number, 0) == 0).count();
      int missing = workload.replicas() - ready.size();
      int most = workload.rollout().maxUnavailable() + workload.rollout().maxSurge();
      if (!workload.singleInstance() && taken > 0) {
        assertThat(missing + taken)
            .as("%s: %s loses no more than it may", at, workload.id())
            .isLessThanOrEqualTo(most);
      }
    }
  }

  /** At rest every wanted replica runs once in its revision, or there is a reason why not. */
  private static void complete(Views views, String at) {
    Plan plan = views.plan();
    Set<Placement.Replica> explained =
        plan.unplaced().stream().map(Plan.Unplaced::replica).collect(Collectors.toSet());
    Set<String> blocked =
        explained.stream().map(Placement.Replica::workload).collect(Collectors.toSet());
    assertThat(plan.unplaced()).as(at).allMatch(one -> !one.reason().isEmpty());
    for (Workload workload : views.workloads.values()) {
      for (int number = 1; number <= workload.replicas(); number++) {
        var replica = new Placement.Replica(workload.id(), number);
        List<Placement> own =
            views.current.stream()
                .map(Current::placement)
                .filter(one -> one.replica().equals(replica))
                .filter(one -> views.nodes.containsKey(one.node()))
                .toList();
        if (!explained.contains(replica)) {
          assertThat(own).as("%s: %s", at, replica).hasSize(1);
          assertThat(
                  own.getFirst().revision().equals(workload.revision())
                      || blocked.contains(workload.id()))
              .as("%s: %s is up to date", at, replica)
              .isTrue();
        }
      }
    }
  }

  private static void change(Views views, Random random) {
    String id = "n" + random.nextInt(8);
    switch (random.nextInt(6)) {
      case 0, 1 -> views.nodes.put(id, node(id, random));
      case 2 -> {
        views.nodes.remove(id);
        // the claims of a node that is lost run out, sooner or later
        views.current.replaceAll(
            one ->
                views.nodes.containsKey(one.placement().node())
                    ? one
                    : new Current(one.placement(), one.state(), random.nextBoolean()));
        views.current.removeIf(
            one ->
                !views.nodes.containsKey(one.placement().node()) && one.state() == State.STOPPING);
      }
      case 3 -> {
        List<Current> all = views.current.stream().filter(Current::live).toList();
        if (!all.isEmpty()) {
          Current one = all.get(random.nextInt(all.size()));
          NodeFacts node = views.nodes.get(one.placement().node());
          if (node != null) {
            views.current.remove(one);
            views.current.add(new Current(one.placement(), State.REFUSED, false));
            views.refusals.add(
                new ClusterView.Refusal(
                    one.placement().replica().workload(),
                    one.placement().revision(),
                    node.id(),
                    node.revision(),
                    "needs another node"));
          }
        }
      }
      case 4 -> views.workloads.remove("w" + random.nextInt(6));
      default -> {
        Workload next = workload("w" + random.nextInt(6), random);
        views.workloads.put(next.id(), next);
      }
    }
  }

  private static NodeFacts node(String id, Random random) {
    return new NodeFacts(
        id,
        id,
        random.nextInt(1_000_000),
        random.nextInt(5) == 0 ? Status.values()[random.nextInt(3)] : Status.READY,
        1000L * (1 + random.nextInt(8)),
        1024L * (1 + random.nextInt(8)),
        IntStream.range(0, random.nextInt(4))
            .mapToObj(i -> new NodeFacts.Gpu("" + i, "", Vendor.NVIDIA, "H200"))
            .toList(),
        random.nextInt(4) == 0 ? List.of(ARM) : List.of(AMD),
        Set.of("oci"),
        random.nextBoolean() ? Map.of("disk", "ssd") : Map.of(),
        Set.of());
  }

  private static Workload workload(String id, Random random) {
    boolean single = random.nextInt(6) == 0;
    Optional<Demand.Gpus> gpus =
        random.nextInt(4) == 0
            ? Optional.of(
                new Demand.Gpus(
                    1 + random.nextInt(2),
                    Vendor.NVIDIA,
                    "",
                    List.of(),
                    random.nextBoolean() ? Sharing.EXCLUSIVE : Sharing.MPS))
            : Optional.empty();
    Affinity affinity =
        switch (random.nextInt(5)) {
          case 0 -> new Affinity.Pin("id=n" + random.nextInt(8));
          case 1, 2 -> new Affinity.Pack();
          default -> new Affinity.Spread();
        };
    return new Workload(
        id,
        "r" + random.nextInt(4),
        single ? 1 : random.nextInt(7),
        new Demand(
            500L * random.nextInt(5),
            256L * random.nextInt(5),
            gpus,
            random.nextInt(5) == 0 ? Set.of(new HostPort(80, Transport.TCP)) : Set.of(),
            Set.of(),
            NodeMode.values()[random.nextInt(8) == 0 ? random.nextInt(3) : 0]),
        new Constraints(
            random.nextBoolean() ? List.of(AMD) : List.of(),
            Optional.empty(),
            random.nextInt(4) == 0 ? Map.of("disk", "ssd") : Map.of(),
            random.nextInt(4) == 0 ? Map.of("disk", "ssd") : Map.of(),
            affinity),
        new Workload.Rollout(random.nextInt(3), random.nextInt(2)),
        gpus.isPresent() && random.nextBoolean(),
        single,
        Optional.empty());
  }
}
