package dev.zlayer.cluster.schedule;

import dev.zlayer.cluster.schedule.NodeFacts.Status;
import dev.zlayer.cluster.schedule.Placement.Current;
import dev.zlayer.cluster.schedule.Placement.Replica;
import dev.zlayer.cluster.schedule.Placement.State;
import dev.zlayer.cluster.schedule.Plan.Cause;
import dev.zlayer.cluster.schedule.Plan.Step;
import dev.zlayer.cluster.schedule.Plan.Unplaced;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Decides which node runs which replica. Only what is missing is placed: what runs stays where it
 * is, unless its node is drained or its new revision does not fit there. Replacing is limited by
 * the workload's roll-out; each call decides one round of it, from what is ready by then.
 *
 * <p>Workloads are served in the order of their ids, nodes of equal worth in the order of theirs,
 * so equal views give equal plans.
 */
public final class Scheduler {
  private final Pass pass;
  private final List<Step> steps = new ArrayList<>();
  private final List<Unplaced> unplaced = new ArrayList<>();

  private Scheduler(ClusterView view) {
    this.pass = new Pass(view);
  }

  public static Plan plan(ClusterView view) {
    var scheduler = new Scheduler(view);
    var current = new HashMap<String, List<Current>>();
    view.current().stream()
        .sorted(
            Comparator.comparing((Current one) -> one.placement().replica())
                .thenComparing(one -> one.placement().node()))
        .forEach(
            one ->
                current
                    .computeIfAbsent(one.placement().replica().workload(), _ -> new ArrayList<>())
                    .add(one));
    var workloads = new TreeMap<String, Workload>();
    view.workloads().forEach(workload -> workloads.put(workload.id(), workload));
    for (Workload workload : workloads.values()) {
      List<Current> own = current.remove(workload.id());
      scheduler.new Round(workload, own == null ? List.of() : own).decide();
    }
    new TreeMap<>(current)
        .values()
        .forEach(ended -> ended.forEach(one -> scheduler.withdraw(one, Cause.NOT_WANTED)));
    return new Plan(scheduler.steps, scheduler.unplaced);
  }

  private void withdraw(Current one, Cause cause) {
    if (one.state() != State.STOPPING) {
      steps.add(new Step.Withdraw(one.placement(), cause));
    }
  }

  /** The steps for one workload. */
  private final class Round {
    private final Workload workload;
    private final List<Current> placements;
    private final List<Integer> missing = new ArrayList<>();
    private final List<Current> outdated = new ArrayList<>();
    private final List<Current> leaving = new ArrayList<>();

    /** What is lost, by the number of the replica that replaces it. */
    private final Map<Integer, List<Current>> lost = new HashMap<>();

    private int ready;
    private int moving;

    Round(Workload workload, List<Current> placements) {
      this.workload = workload;
      this.placements = placements;
    }

    void decide() {
      pass.begin(placements);
      var byNumber = new TreeMap<Integer, List<Current>>();
      placements.forEach(
          one ->
              byNumber
                  .computeIfAbsent(one.placement().replica().number(), _ -> new ArrayList<>())
                  .add(one));
      for (int number = 1; number <= workload.replicas(); number++) {
        List<Current> own = byNumber.remove(number);
        sort(number, own == null ? List.of() : own);
      }
      byNumber.values().forEach(extra -> extra.forEach(one -> withdraw(one, Cause.NOT_WANTED)));
      if (!missing.isEmpty()) {
        place();
      }
      replace();
    }

    /** What is to be done about one replica. */
    private void sort(int number, List<Current> own) {
      var live = new ArrayList<Current>();
      for (Current one : own) {
        Optional<NodeState> node = pass.node(one.placement());
        if (node.isEmpty()) {
          lost.computeIfAbsent(number, _ -> new ArrayList<>()).add(one);
        } else if (one.state() == State.REFUSED) {
          withdraw(one, Cause.REFUSED);
          pass.remove(one.placement());
        } else if (one.live()) {
          live.add(one);
        }
      }
      ready += live.stream().anyMatch(Current::ready) ? 1 : 0;
      if (live.size() > 1) {
        several(live);
      } else if (live.size() == 1) {
        forget(number);
        one(live.getFirst());
      } else if (workload.singleInstance() && own.stream().anyMatch(Current::claimed)) {
        waits(number, own);
      } else {
        missing.add(number);
      }
    }

    /** A replica that was placed anew needs the record of its lost placement no longer. */
    private void forget(int number) {
      List<Current> ended = lost.remove(number);
      if (ended != null) {
        ended.forEach(one -> withdraw(one, Cause.LOST));
      }
    }

    private void waits(int number, List<Current> own) {
      String holder =
          own.stream()
              .filter(Current::claimed)
              .findFirst()
              .map(one -> one.placement().node())
              .orElse("");
      unplaced.add(
          new Unplaced(
              new Replica(workload.id(), number),
              Map.of(),
              "%s is a single instance and may still run on node %s: it starts elsewhere when that"
                      .formatted(workload.id(), holder)
                  + " node has stopped it or its claim has expired"));
    }

    /** While it moves, a replica has two placements: the one that is left, and a settled one. */
    private void several(List<Current> live) {
      List<Current> settled = live.stream().filter(this::settled).toList();
      Optional<Current> keeper =
          settled.stream()
              .filter(Current::ready)
              .findFirst()
              .or(() -> settled.stream().findFirst());
      if (keeper.isEmpty()) {
        // all of them are to be left: one of them is, the others go
        Current first = live.stream().filter(Current::ready).findFirst().orElse(live.getFirst());
        live.stream().filter(one -> !one.equals(first)).forEach(one -> withdraw(one, Cause.MOVED));
        one(first);
        return;
      }
      boolean moved = keeper.get().ready() || live.stream().noneMatch(Current::ready);
      moving += moved ? 0 : 1;
      for (Current other : live) {
        if (!other.equals(keeper.get()) && (moved || settled.contains(other))) {
          withdraw(other, Cause.MOVED);
        }
      }
    }

    private boolean settled(Current one) {
      return one.placement().revision().equals(workload.revision()) && !draining(one);
    }

    private boolean draining(Current one) {
      return pass.node(one.placement())
          .filter(node -> node.facts.status() == Status.DRAINING)
          .isPresent();
    }

    private void one(Current only) {
      if (draining(only)) {
        leaving.add(only);
      } else if (!settled(only)) {
        outdated.add(only);
      }
    }

    /** Places what is missing; all of it or nothing for a gang. */
    private void place() {
      Pass.Candidates candidates = pass.candidates(workload, missing.size());
      Set<String> unbound = pass.unbound(workload.demand());
      var placed = new ArrayList<Step.Assign>();
      var failed = new ArrayList<Integer>();
      for (int number : missing) {
        Optional<Step.Assign> step = assign(number, candidates);
        step.ifPresentOrElse(placed::add, () -> failed.add(number));
        if (step.isEmpty() && workload.gang()) {
          break;
        }
      }
      if (!failed.isEmpty()) {
        Map<Filter, Integer> removed = pass.removed(workload);
        String reason = Explanation.of(workload, pass, removed);
        if (workload.gang()) {
          reason = Explanation.gang(workload, missing.size(), placed.size(), reason);
          placed.forEach(step -> pass.remove(step.placement()));
          pass.unbind(unbound);
          placed.clear();
          failed.clear();
          failed.addAll(missing);
        }
        for (int number : failed) {
          unplaced.add(new Unplaced(new Replica(workload.id(), number), removed, reason));
        }
      }
      for (Step.Assign step : placed) {
        steps.add(step);
        forget(step.placement().replica().number());
      }
    }

    private Optional<Step.Assign> assign(int number, Pass.Candidates candidates) {
      Optional<NodeState> best = candidates.best(workload);
      return best.map(
          node -> {
            Placement placement = placement(number, node);
            pass.add(placement);
            candidates.update(workload);
            return new Step.Assign(placement, node.facts.revision());
          });
    }

    private Placement placement(int number, NodeState node) {
      return new Placement(
          new Replica(workload.id(), number),
          node.facts.id(),
          workload.revision(),
          workload.demand(),
          node.chooseGpus(workload.demand()),
          Ranks.variables(workload, number));
    }

    /**
     * Replaces what is out of date or has to leave its node, as far as the roll-out allows: what is
     * not ready costs nothing more, each other replica one of those that may be missing or extra.
     */
    private void replace() {
      int notReady = workload.replicas() - ready;
      Workload.Rollout rollout = workload.rollout();
      int budget = rollout.maxUnavailable() + rollout.maxSurge() - notReady - moving;
      outdated.sort(Comparator.comparing(Current::ready));
      for (Current one : outdated) {
        if (!one.ready() || budget > 0) {
          if (!update(one)) {
            leaving.add(one);
          } else if (one.ready()) {
            budget--;
            notReady++;
          }
        }
      }
      if (leaving.isEmpty()) {
        return;
      }
      leaving.sort(Comparator.comparing(Current::ready));
      Pass.Candidates candidates = pass.candidates(workload, leaving.size());
      for (Current one : leaving) {
        if (one.ready() && budget <= 0 && !workload.singleInstance()) {
          continue;
        }
        boolean extra = !workload.singleInstance() && moving < rollout.maxSurge();
        boolean stop =
            workload.singleInstance() || !one.ready() || notReady < rollout.maxUnavailable();
        if (!extra && !stop) {
          continue;
        }
        if (!move(one, extra, candidates)) {
          break;
        }
        budget -= one.ready() ? 1 : 0;
        moving += extra ? 1 : 0;
        notReady += !extra && one.ready() ? 1 : 0;
      }
    }

    /** Gives it the current revision where it is; false when that does not fit there. */
    private boolean update(Current one) {
      NodeState node = pass.node(one.placement()).orElseThrow();
      pass.remove(one.placement());
      if (!pass.keeps(node, workload)) {
        pass.add(one.placement());
        return false;
      }
      Placement next = placement(one.placement().replica().number(), node);
      pass.add(next);
      steps.add(new Step.Update(next, node.facts.revision()));
      return true;
    }

    /**
     * Starts it elsewhere, and stops it here when it is ready there; or stops it here first, once
     * there is a place for it. What fits nowhere else stays.
     */
    private boolean move(Current one, boolean extra, Pass.Candidates candidates) {
      int number = one.placement().replica().number();
      Optional<Step.Assign> target = assign(number, candidates);
      if (target.isEmpty()) {
        Map<Filter, Integer> removed = pass.removed(workload);
        unplaced.add(
            new Unplaced(
                one.placement().replica(), removed, Explanation.of(workload, pass, removed)));
        return false;
      }
      if (extra) {
        steps.add(target.get());
      } else {
        withdraw(one, Cause.MOVED);
      }
      return true;
    }
  }
}
