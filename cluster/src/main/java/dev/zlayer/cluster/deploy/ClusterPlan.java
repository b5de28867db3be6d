package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterState.Place;
import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.member.Keys;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.cluster.schedule.ClusterView;
import dev.zlayer.cluster.schedule.Demand;
import dev.zlayer.cluster.schedule.NodeFacts;
import dev.zlayer.cluster.schedule.Placement;
import dev.zlayer.cluster.schedule.Plan;
import dev.zlayer.cluster.schedule.Scheduler;
import dev.zlayer.cluster.schedule.Workload;
import dev.zlayer.cluster.schedule.Workloads;
import dev.zlayer.oci.Platform;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.service.DependsSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The next assignments of all deployments. Pure.
 *
 * <p>A node runs one revision of a deployment: when the scheduler updates one of its replicas, all
 * of its services there get the new revision, and the node replaces its replicas by the same rules.
 * They count as not ready until it reports, so that no other node begins too early.
 *
 * @param assignments what is to be written; empty for one that ends
 * @param unplaced why replicas are not placed, by deployment and service
 * @param removed deployments of which nothing is left on any node
 * @param volumes volumes that get a node
 * @param executions of jobs that get a node, by key
 */
public record ClusterPlan(
    Map<Place, Optional<Assignment>> assignments,
    Map<String, Map<String, String>> unplaced,
    Set<String> removed,
    Map<String, String> volumes,
    Map<String, String> executions) {
  private static final long UNLIMITED = Long.MAX_VALUE / 4;

  /** The files of deployments. */
  @FunctionalInterface
  public interface Files {
    /** Empty when it cannot be read; nothing of that deployment is changed then. */
    Optional<DeploymentSpec> find(String deployment, long revision);
  }

  /**
   * Decides.
   *
   * @param lost nodes that are not alive and whose replicas wait for them for now
   * @param refusals what nodes have answered
   */
  public static ClusterPlan of(
      ClusterState state, Files files, Set<String> lost, List<ClusterView.Refusal> refusals) {
    return new Maker(state, files, lost).make(refusals);
  }

  /** Whether there is nothing to write. */
  boolean settled(ClusterState state) {
    return assignments.isEmpty()
        && removed.isEmpty()
        && volumes.isEmpty()
        && executions.isEmpty()
        && unplaced.equals(state.unplaced());
  }

  /** How many replicas of a service there should be. */
  public static int replicas(Desired desired, String service, ServiceSpec spec) {
    if (desired.stopped().contains(service)) {
      return 0;
    }
    return desired.scale().getOrDefault(service, spec.lifecycle().initialReplicas());
  }

  /** What a service that has not begun waits for. */
  public static Optional<String> waitsFor(ClusterState state, String deployment, ServiceSpec spec) {
    return spec.lifecycle().depends().stream()
        .map(DependsSpec::service)
        .filter(other -> state.ready(deployment, other) == 0)
        .findFirst();
  }

  /** Of the facts of a node as the scheduler sees them. */
  static NodeFacts facts(ClusterState state, NodeRecord node) {
    Optional<NodeRecord.Facts> facts = Optional.ofNullable(state.alive().get(node.id()));
    return new NodeFacts(
        node.id(),
        node.name(),
        revision(state, node.id()),
        facts.isPresent() ? node.status() : NodeFacts.Status.CORDONED,
        facts.map(own -> own.cpus() * 1000L).orElse(UNLIMITED),
        facts.map(NodeRecord.Facts::memoryBytes).orElse(UNLIMITED),
        List.of(),
        facts.map(own -> own.platforms().stream().map(Platform::parse).toList()).orElse(List.of()),
        facts.map(own -> Set.copyOf(own.runtimes())).orElse(Set.of()),
        node.labels(),
        Set.of());
  }

  private static long revision(ClusterState state, String node) {
    return state.modified().getOrDefault(Keys.alive(node), 0L)
        + state.modified().getOrDefault(Keys.member(node), 0L);
  }

  /** One plan in the making. */
  private static final class Maker {
    private final ClusterState state;
    private final Files files;
    private final Set<String> present = new HashSet<>();

    /** Numbers of the replicas by service, of what is assigned next. */
    private final Map<Place, Map<String, Set<Integer>>> next = new TreeMap<>();

    private final Map<Place, Long> revisions = new HashMap<>();
    private final Map<String, Map<String, String>> unplaced = new TreeMap<>();

    /** Deployments with jobs: each node has them, so that it can run one at once. */
    private final Set<String> withJobs = new HashSet<>();

    private final Map<String, String> executions = new TreeMap<>();

    /** Deployments whose file cannot be read: they stay as they are. */
    private final Set<String> unread = new HashSet<>();

    Maker(ClusterState state, Files files, Set<String> lost) {
      this.state = state;
      this.files = files;
      state.members().keySet().stream()
          .filter(id -> state.alive().containsKey(id) || lost.contains(id))
          .forEach(present::add);
    }

    ClusterPlan make(List<ClusterView.Refusal> refusals) {
      var current = new ArrayList<Placement.Current>();
      state
          .assignments()
          .forEach(
              (place, assignment) -> {
                if (assignment.removing().isEmpty()) {
                  current.addAll(placements(place, assignment));
                }
              });
      List<Workload> workloads = workloads();
      var refused = new ArrayList<>(refusals);
      for (ClusterExecution one : JobPlan.waiting(state, files)) {
        workloads.add(workload(one));
        refused.addAll(JobPlan.refusals(state, one));
      }
      state.executions().values().stream()
          .filter(one -> one.node().isPresent())
          .forEach(one -> current.add(placement(one)));
      Map<String, String> bound = new HashMap<>(state.volumes());
      bound.values().removeIf(node -> !state.members().containsKey(node));
      var view =
          new ClusterView(
              state.members().values().stream()
                  .filter(node -> present.contains(node.id()))
                  .map(node -> facts(state, node))
                  .toList(),
              workloads,
              current,
              refused,
              bound);
      Plan plan = Scheduler.plan(view);
      plan.steps().forEach(this::take);
      plan.unplaced().forEach(one -> note(place(one.replica().workload(), "").deployment(), one));
      return result(bound, plan);
    }

    private void note(String deployment, Plan.Unplaced one) {
      String service = one.replica().workload().substring(deployment.length() + 1);
      unplaced.computeIfAbsent(deployment, _ -> new TreeMap<>()).putIfAbsent(service, one.reason());
    }

    private List<Workload> workloads() {
      var workloads = new ArrayList<Workload>();
      for (Desired desired : state.desired().values()) {
        Optional<DeploymentSpec> spec = files.find(desired.name(), desired.revision());
        if (spec.isEmpty()) {
          unread.add(desired.name());
        }
        if (spec.isEmpty() || desired.removing().isPresent()) {
          continue;
        }
        spec.get()
            .services()
            .forEach(
                (name, service) -> {
                  if (service.rtype() != RunType.SERVICE) {
                    withJobs.add(desired.name());
                  } else if (begun(desired.name(), name)
                      || waitsFor(state, desired.name(), service).isEmpty()) {
                    workloads.add(workload(desired, name, service));
                  }
                });
      }
      return workloads;
    }

    private boolean begun(String deployment, String service) {
      return state.assignments(deployment).values().stream()
          .anyMatch(one -> !one.numbers(service).isEmpty());
    }

    private static Workload workload(Desired desired, String name, ServiceSpec service) {
      return Workloads.of(
          desired.name() + "/" + name,
          name,
          service,
          Optional.empty(),
          List.of(),
          Long.toString(desired.revision()),
          replicas(desired, name, service),
          false);
    }

    private Workload workload(ClusterExecution execution) {
      return Workloads.of(
          execution.workload(),
          execution.job(),
          JobPlan.spec(state, files, execution).orElseThrow(),
          Optional.empty(),
          List.of(),
          Long.toString(revision(execution.deployment())),
          1,
          false);
    }

    /** What runs stays where it is until it ends: it takes room, and nothing is decided on it. */
    private Placement.Current placement(ClusterExecution execution) {
      return new Placement.Current(
          new Placement(
              new Placement.Replica(execution.workload(), 1),
              execution.node().orElseThrow(),
              "",
              JobPlan.spec(state, files, execution).map(Workloads::demand).orElse(Demand.NOTHING),
              List.of(),
              Map.of()),
          Placement.State.STOPPING,
          false);
    }

    private List<Placement.Current> placements(Place place, Assignment assignment) {
      Optional<DeploymentSpec> spec = files.find(place.deployment(), assignment.revision());
      boolean refused =
          Optional.ofNullable(state.reports().get(place))
              .filter(report -> report.revision() == assignment.revision())
              .flatMap(Desired.Report::refused)
              .isPresent();
      var placements = new ArrayList<Placement.Current>();
      assignment
          .replicas()
          .forEach(
              (service, numbers) -> {
                Demand demand =
                    spec.flatMap(known -> Optional.ofNullable(known.services().get(service)))
                        .map(Workloads::demand)
                        .orElse(Demand.NOTHING);
                List<Integer> ready = state.ready(place, service);
                for (int number : numbers) {
                  placements.add(
                      new Placement.Current(
                          new Placement(
                              new Placement.Replica(place.deployment() + "/" + service, number),
                              place.node(),
                              Long.toString(assignment.revision()),
                              demand,
                              List.of(),
                              Map.of()),
                          refused
                              ? Placement.State.REFUSED
                              : ready.contains(number)
                                  ? Placement.State.READY
                                  : Placement.State.PENDING,
                          false));
                  numbers(place, service).add(number);
                }
              });
      revisions.put(place, assignment.revision());
      return placements;
    }

    private Set<Integer> numbers(Place place, String service) {
      return next.computeIfAbsent(place, _ -> new TreeMap<>())
          .computeIfAbsent(service, _ -> new TreeSet<>());
    }

    private static Place place(String workload, String node) {
      return new Place(node, workload.substring(0, workload.indexOf('/')));
    }

    private void take(Plan.Step step) {
      Placement placement = step.placement();
      String workload = placement.replica().workload();
      Place place = place(workload, placement.node());
      if (workload.indexOf('/', place.deployment().length() + 1) > 0) {
        String number = workload.substring(workload.lastIndexOf('/') + 1);
        String job = workload.substring(place.deployment().length() + 1, workload.lastIndexOf('/'));
        executions.put(
            Keys.execution(place.deployment(), job, Long.parseLong(number)), placement.node());
        return;
      }
      String service = workload.substring(place.deployment().length() + 1);
      switch (step) {
        case Plan.Step.Withdraw _ -> numbers(place, service).remove(placement.replica().number());
        case Plan.Step.Assign _, Plan.Step.Update _ -> {
          numbers(place, service).add(placement.replica().number());
          revisions.merge(place, Long.parseLong(placement.revision()), Math::max);
        }
      }
    }

    private ClusterPlan result(Map<String, String> bound, Plan plan) {
      var changes = new TreeMap<Place, Optional<Assignment>>();
      var places = new TreeSet<>(state.assignments().keySet());
      places.addAll(next.keySet());
      withJobs.forEach(
          name -> state.members().keySet().forEach(node -> places.add(new Place(node, name))));
      for (Place place : places) {
        Optional<Assignment> before = Optional.ofNullable(state.assignments().get(place));
        Optional<Assignment> after = unread.contains(place.deployment()) ? before : after(place);
        if (!before.equals(after)) {
          changes.put(place, after);
        }
      }
      var removed = new TreeSet<String>();
      for (Desired desired : state.desired().values()) {
        if (desired.removing().isPresent() && state.assignments(desired.name()).isEmpty()) {
          removed.add(desired.name());
        }
      }
      return new ClusterPlan(changes, unplaced, removed, volumes(bound, plan), executions);
    }

    /** What a place has from now on; a node that is to remove a deployment says when it has. */
    private Optional<Assignment> after(Place place) {
      Desired desired = state.desired().get(place.deployment());
      if (!present.contains(place.node())) {
        // a lost node keeps the record of what only it can run
        return assignment(place);
      }
      if (desired != null && desired.removing().isPresent()) {
        return Optional.ofNullable(state.assignments().get(place))
            .map(one -> new Assignment(one.revision(), Map.of(), desired.removing()));
      }
      return assignment(place);
    }

    private Optional<Assignment> assignment(Place place) {
      var replicas = new TreeMap<String, List<Integer>>();
      next.getOrDefault(place, Map.of())
          .forEach(
              (service, numbers) -> {
                if (!numbers.isEmpty()) {
                  replicas.put(service, List.copyOf(numbers));
                }
              });
      return replicas.isEmpty()
          ? forJobs(place)
          : Optional.of(
              new Assignment(
                  Objects.requireNonNull(revisions.get(place)), replicas, Optional.empty()));
    }

    private long revision(String deployment) {
      return Objects.requireNonNull(state.desired().get(deployment)).revision();
    }

    /** A node without replicas that can run jobs has the newest file. */
    private Optional<Assignment> forJobs(Place place) {
      NodeRecord node = state.members().get(place.node());
      if (node == null || !withJobs.contains(place.deployment())) {
        return Optional.empty();
      }
      Optional<Assignment> before =
          Optional.ofNullable(state.assignments().get(place))
              .filter(one -> one.removing().isEmpty());
      if (!state.alive().containsKey(place.node())) {
        return before.map(one -> new Assignment(one.revision(), Map.of(), Optional.empty()));
      }
      boolean wanted =
          switch (node.status()) {
            case READY -> true;
            case CORDONED -> before.isPresent();
            case DRAINING -> false;
          };
      boolean busy =
          state.executions().values().stream()
              .anyMatch(
                  one ->
                      one.deployment().equals(place.deployment())
                          && one.node().equals(Optional.of(place.node())));
      return wanted || busy
          ? Optional.of(new Assignment(revision(place.deployment()), Map.of(), Optional.empty()))
          : Optional.empty();
    }

    private Map<String, String> volumes(Map<String, String> bound, Plan plan) {
      var volumes = new TreeMap<String, String>();
      for (Plan.Step step : plan.steps()) {
        if (step instanceof Plan.Step.Assign(var placement, _)) {
          placement.demand().volumes().stream()
              .filter(name -> !bound.containsKey(name))
              .forEach(name -> volumes.put(name, placement.node()));
        }
      }
      return volumes;
    }
  }
}
