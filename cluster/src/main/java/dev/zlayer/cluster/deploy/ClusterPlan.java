package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterState.Place;
import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.deploy.Desired.Settings;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.schedule.ClusterView;
import dev.zlayer.cluster.schedule.Demand;
import dev.zlayer.cluster.schedule.NodeFacts;
import dev.zlayer.cluster.schedule.Placement;
import dev.zlayer.cluster.schedule.Plan;
import dev.zlayer.cluster.schedule.Scheduler;
import dev.zlayer.cluster.schedule.Workload;
import dev.zlayer.cluster.schedule.Workloads;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.Platform;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.ServiceSpec;
import java.time.Instant;
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
 * @param warnings what was not waited for any longer
 * @param again when waiting for something ends, which no change of the state says
 */
public record ClusterPlan(
    Map<Place, Optional<Assignment>> assignments,
    Map<String, Map<String, String>> unplaced,
    Set<String> removed,
    Map<String, String> volumes,
    Map<String, Slot> executions,
    List<String> warnings,
    Optional<Instant> again) {
  private static final long UNLIMITED = Long.MAX_VALUE / 4;

  /**
   * Where an execution runs.
   *
   * @param gpus names of the devices that it gets there
   */
  public record Slot(String node, List<String> gpus) {
    public Slot {
      gpus = List.copyOf(gpus);
    }
  }

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
   * @param ends of executions that others need
   */
  static ClusterPlan of(
      ClusterState state,
      Files files,
      Set<String> lost,
      List<ClusterView.Refusal> refusals,
      JobPlan.Ends ends,
      Instant now) {
    return new Maker(state, files, lost, now).make(refusals, ends);
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
    int initial = spec.lifecycle().initialReplicas();
    int replicas =
        spec.lifecycle().replicaGroups().isEmpty()
            ? desired.scale().getOrDefault(service, initial)
            : initial;
    return spec.lifecycle().single() ? Math.min(1, replicas) : replicas;
  }

  /** Of the facts of a node as the scheduler sees them. */
  static NodeFacts facts(ClusterState state, NodeRecord node) {
    Optional<NodeRecord.Facts> facts =
        Optional.ofNullable(state.alive().get(node.id()))
            .filter(own -> !own.equals(NodeRecord.Facts.UNREADABLE));
    return new NodeFacts(
        node.id(),
        node.name(),
        revision(state, node.id()),
        facts.isPresent() ? node.status() : NodeFacts.Status.CORDONED,
        facts.map(own -> own.cpus() * 1000L).orElse(UNLIMITED),
        facts.map(NodeRecord.Facts::memoryBytes).orElse(UNLIMITED),
        facts.map(NodeRecord.Facts::devices).orElse(List.of()),
        facts
            .map(own -> own.platforms().stream().flatMap(text -> platform(text).stream()).toList())
            .orElse(List.of()),
        facts.map(own -> Set.copyOf(own.runtimes())).orElse(Set.of()),
        node.labels(),
        Set.of());
  }

  /** One that this agent does not know is one that it places nothing for. */
  private static Optional<Platform> platform(String text) {
    try {
      return Optional.of(Platform.parse(text));
    } catch (AgentException.InvalidSpec _) {
      return Optional.empty();
    }
  }

  private static long revision(ClusterState state, String node) {
    return state.modified().getOrDefault(StoreKeys.alive(node), 0L)
        + state.modified().getOrDefault(StoreKeys.member(node), 0L);
  }

  /** One plan in the making. */
  private static final class Maker {
    private final ClusterState state;
    private final Files files;
    private final WantedServices wanted;
    private final Set<String> present = new HashSet<>();

    /** The replicas by group and number, of what is assigned next, with what they get. */
    private final Map<Place, Map<String, Map<Integer, Optional<Settings>>>> next = new TreeMap<>();

    private final Targets targets = new Targets();
    private final Map<Place, Long> revisions = new HashMap<>();
    private final Map<String, Map<String, String>> unplaced = new TreeMap<>();

    private final Map<String, Slot> executions = new TreeMap<>();

    Maker(ClusterState state, Files files, Set<String> lost, Instant now) {
      this.wanted = WantedServices.of(state, files, targets, now);
      this.state = state;
      this.files = files;
      state.members().keySet().stream()
          .filter(id -> state.alive().containsKey(id) || lost.contains(id))
          .forEach(present::add);
    }

    ClusterPlan make(List<ClusterView.Refusal> refusals, JobPlan.Ends ends) {
      var current = new ArrayList<Placement.Current>();
      state
          .assignments()
          .forEach(
              (place, assignment) -> {
                if (assignment.removing().isEmpty()) {
                  current.addAll(placements(place, assignment));
                }
              });
      wanted.closed().forEach((name, reasons) -> unplaced.put(name, new TreeMap<>(reasons)));
      List<Workload> workloads = new ArrayList<>(wanted.workloads());
      var refused = new ArrayList<>(refusals);
      for (ClusterExecution one : JobPlan.waiting(state, files, ends)) {
        workloads.add(workload(one));
        refused.addAll(JobPlan.refusals(state, one));
      }
      state.executions().values().stream()
          .filter(one -> one.node().isPresent())
          .forEach(one -> current.add(placement(one)));
      current.addAll(ClaimedServices.stopping(state, files, targets));
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
      plan.unplaced().forEach(this::note);
      return result(volumes(bound, current, plan));
    }

    private void note(Plan.Unplaced one) {
      Targets.Target target = targets.of(one.replica().workload());
      unplaced
          .computeIfAbsent(target.deployment(), _ -> new TreeMap<>())
          .putIfAbsent(target.name(), one.reason());
    }

    private Workload workload(ClusterExecution execution) {
      return Workloads.of(
          targets.execution(execution),
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
              execution.gpus(),
              Map.of()),
          Placement.State.STOPPING,
          false);
    }

    private List<Placement.Current> placements(Place place, Assignment assignment) {
      Map<String, PlacedGroup> groups =
          files
              .find(place.deployment(), assignment.revision())
              .map(PlacedGroup::of)
              .orElse(Map.of());
      Optional<Desired.Report> report = Optional.ofNullable(state.reports().get(place));
      var placements = new ArrayList<Placement.Current>();
      assignment
          .replicas()
          .forEach(
              (key, numbers) -> {
                Optional<PlacedGroup> group = Optional.ofNullable(groups.get(key));
                String service = group.map(PlacedGroup::service).orElse(key);
                boolean refused =
                    report.flatMap(one -> one.refusal(assignment, service)).isPresent();
                List<Integer> ready = state.ready(place, key);
                for (int number : numbers) {
                  Optional<Settings> settings = assignment.settings(key, number);
                  placements.add(
                      new Placement.Current(
                          new Placement(
                              new Placement.Replica(
                                  targets.group(place.deployment(), key, service), number),
                              place.node(),
                              revision(assignment, group, settings),
                              group
                                  .map(PlacedGroup::spec)
                                  .map(Workloads::demand)
                                  .orElse(Demand.NOTHING),
                              settings.map(Settings::gpus).orElse(List.of()),
                              settings.map(Settings::variables).orElse(Map.of())),
                          refused
                              ? Placement.State.REFUSED
                              : ready.contains(number)
                                  ? Placement.State.READY
                                  : Placement.State.PENDING,
                          state.claimed(place.deployment(), service, place.node())));
                  numbers(place, key).put(number, settings);
                }
              });
      revisions.put(place, assignment.revision());
      return placements;
    }

    /**
     * A node runs a newer file at once; what the scheduler decides by it comes replica by replica.
     */
    private static String revision(
        Assignment assignment, Optional<PlacedGroup> group, Optional<Settings> settings) {
      return settings.isEmpty() && group.filter(PlacedGroup::withSettings).isPresent()
          ? ""
          : settings.map(Settings::revision).orElse(Long.toString(assignment.revision()));
    }

    private Map<Integer, Optional<Settings>> numbers(Place place, String group) {
      return next.computeIfAbsent(place, _ -> new TreeMap<>())
          .computeIfAbsent(group, _ -> new TreeMap<>());
    }

    private void take(Plan.Step step) {
      Placement placement = step.placement();
      Targets.Target target = targets.of(placement.replica().workload());
      if (target.execution().isPresent()) {
        executions.put(target.execution().get(), new Slot(placement.node(), placement.gpus()));
        return;
      }
      var place = new Place(placement.node(), target.deployment());
      Map<Integer, Optional<Settings>> numbers = numbers(place, target.group());
      int number = placement.replica().number();
      switch (step) {
        case Plan.Step.Withdraw _ -> numbers.remove(number);
        case Plan.Step.Assign _, Plan.Step.Update _ -> {
          numbers.put(number, settings(placement));
          revisions.merge(place, revision(target.deployment()), Math::max);
        }
      }
    }

    private static Optional<Settings> settings(Placement placement) {
      return placement.gpus().isEmpty() && placement.variables().isEmpty()
          ? Optional.empty()
          : Optional.of(
              new Settings(placement.revision(), placement.gpus(), placement.variables()));
    }

    private ClusterPlan result(Map<String, String> volumes) {
      var changes = new TreeMap<Place, Optional<Assignment>>();
      var places = new TreeSet<>(state.assignments().keySet());
      places.addAll(next.keySet());
      wanted
          .withJobs()
          .forEach(
              name -> state.members().keySet().forEach(node -> places.add(new Place(node, name))));
      for (Place place : places) {
        Optional<Assignment> before = Optional.ofNullable(state.assignments().get(place));
        Optional<Assignment> after =
            wanted.unread().contains(place.deployment()) ? before : after(place);
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
      return new ClusterPlan(
          changes, unplaced, removed, volumes, executions, wanted.warnings(), wanted.again());
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
      var settings = new TreeMap<String, Map<String, Settings>>();
      next.getOrDefault(place, Map.of())
          .forEach(
              (group, numbers) -> {
                if (!numbers.isEmpty()) {
                  replicas.put(group, List.copyOf(numbers.keySet()));
                }
                var own = new TreeMap<String, Settings>();
                numbers.forEach(
                    (number, given) ->
                        given.ifPresent(one -> own.put(Integer.toString(number), one)));
                if (!own.isEmpty()) {
                  settings.put(group, own);
                }
              });
      return replicas.isEmpty()
          ? forJobs(place)
          : Optional.of(
              new Assignment(
                  Objects.requireNonNull(revisions.get(place)),
                  replicas,
                  Optional.empty(),
                  settings));
    }

    private long revision(String deployment) {
      return Objects.requireNonNull(state.desired().get(deployment)).revision();
    }

    /** A node without replicas that can run jobs has the newest file. */
    private Optional<Assignment> forJobs(Place place) {
      NodeRecord node = state.members().get(place.node());
      if (node == null || !wanted.withJobs().contains(place.deployment())) {
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

    /** What is placed has its volumes, also when somebody has just released one of them. */
    private Map<String, String> volumes(
        Map<String, String> bound, List<Placement.Current> current, Plan plan) {
      var volumes = new TreeMap<String, String>();
      for (Placement.Current one : current) {
        if (state.members().containsKey(one.placement().node())) {
          one.placement().demand().volumes().stream()
              .filter(name -> !bound.containsKey(name))
              .forEach(name -> volumes.putIfAbsent(name, one.placement().node()));
        }
      }
      for (Plan.Step step : plan.steps()) {
        if (step instanceof Plan.Step.Assign(var placement, _)) {
          placement.demand().volumes().stream()
              .filter(name -> !bound.containsKey(name))
              .forEach(name -> volumes.putIfAbsent(name, placement.node()));
        }
      }
      return volumes;
    }
  }
}
