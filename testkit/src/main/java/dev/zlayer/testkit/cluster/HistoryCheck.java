package dev.zlayer.testkit.cluster;

import dev.zlayer.testkit.cluster.History.Mark;
import dev.zlayer.testkit.cluster.History.Request;
import dev.zlayer.testkit.cluster.History.Result;
import dev.zlayer.testkit.cluster.History.Round;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Holds a history against what a cluster promises. Pure. */
public final class HistoryCheck {
  /** A container writes every second; on a busy machine it may be late. */
  private static final double SILENCE = 8;

  private static final Set<String> ENDED = Set.of("completed", "failed");

  private HistoryCheck() {}

  /** One line for each promise that was broken, with what broke it. */
  public static List<String> violations(History history) {
    var found = new ArrayList<>(history.unsettled());
    results(history, found);
    runs(history, found);
    schedule(history, found);
    history.rounds().forEach(round -> steady(history, round, found));
    history.singles().forEach(service -> single(history, service, found));
    return List.copyOf(found);
  }

  /** Every execution that was acknowledged has an end, with its exit code and output. */
  private static void results(History history, List<String> found) {
    Map<String, Result> byId =
        history.results().stream()
            .collect(Collectors.toMap(Result::id, one -> one, (first, _) -> first));
    var named = new HashMap<String, String>();
    for (Request request : history.requests()) {
      if (request.id().isEmpty()) {
        continue;
      }
      String id = request.id().get();
      String other = named.put(id, request.key());
      if (other != null && !other.equals(request.key())) {
        found.add("execution %s was given to both %s and %s".formatted(id, other, request.key()));
      }
      Result result = byId.get(id);
      if (result == null) {
        found.add("lost result: %s (%s) is unknown".formatted(request.key(), id));
      } else if (result.status().equals("lost")) {
        if (!request.maybeLost()) {
          found.add("lost result: %s (%s): no node was lost".formatted(request.key(), id));
        }
      } else if (!ENDED.contains(result.status())) {
        found.add("lost result: %s (%s) is '%s'".formatted(request.key(), id, result.status()));
      } else {
        ended(request, result, found);
      }
    }
  }

  private static void ended(Request request, Result result, List<String> found) {
    if (!result.code().equals(java.util.Optional.of(request.code()))) {
      found.add(
          "wrong result: %s (%s) ended with %s, not %d"
              .formatted(request.key(), result.id(), result.code(), request.code()));
    }
    if (!result.output().contains("result of " + request.key())) {
      found.add(
          "lost output: %s (%s) printed '%s'"
              .formatted(request.key(), result.id(), result.output().strip()));
    }
  }

  /** What is not tried again begins at most once, acknowledged or not; what has ended did begin. */
  private static void runs(History history, List<String> found) {
    var starts = new TreeMap<String, Integer>();
    history.starts().forEach(start -> starts.merge(start.key(), 1, Integer::sum));
    starts.forEach(
        (key, count) -> {
          if (count > 1) {
            found.add("double run: %s began %d times".formatted(key, count));
          }
        });
    Map<String, Result> byId =
        history.results().stream()
            .collect(Collectors.toMap(Result::id, one -> one, (first, _) -> first));
    for (Request request : history.requests()) {
      boolean ended =
          request
              .id()
              .map(byId::get)
              .filter(Objects::nonNull)
              .filter(result -> ENDED.contains(result.status()))
              .isPresent();
      if (ended && !starts.containsKey(request.key())) {
        found.add("%s has a result and never began".formatted(request.key()));
      }
    }
  }

  /** One start for each time that the schedule names. */
  private static void schedule(History history, List<String> found) {
    var byDue = new TreeMap<String, Set<String>>();
    var ids = new java.util.HashSet<String>();
    for (History.Scheduled one : history.scheduled()) {
      ids.add(one.id());
      byDue.computeIfAbsent(one.due(), _ -> new java.util.TreeSet<>()).add(one.id());
    }
    byDue.forEach(
        (due, executions) -> {
          if (executions.size() > 1) {
            found.add("double run: the schedule started %s as %s".formatted(due, executions));
          }
        });
    if (history.ticks() > ids.size()) {
      found.add(
          "double run: the command of the schedule began %d times in %d executions"
              .formatted(history.ticks(), ids.size()));
    }
  }

  /** What ran when the faults began runs on after them. */
  private static void steady(History history, Round round, List<String> found) {
    if (round.steady().isEmpty()) {
      return;
    }
    containers(history.marks(), round.steady().get())
        .forEach(
            (container, marks) -> {
              boolean before =
                  marks.stream()
                      .anyMatch(
                          mark ->
                              mark.time() <= round.from() && mark.time() > round.from() - SILENCE);
              boolean stopped =
                  marks.stream()
                      .anyMatch(
                          mark -> mark.kind() == Mark.Kind.STOP && mark.time() <= round.from());
              double last = marks.getLast().time();
              boolean ended =
                  last < round.until() - SILENCE
                      || marks.stream()
                          .anyMatch(
                              mark ->
                                  mark.kind() == Mark.Kind.STOP && mark.time() <= round.until());
              if (before && !stopped && ended) {
                found.add(
                    "%s ended a container of %s at %.1f (from %.1f to %.1f)"
                        .formatted(
                            round.name(), round.steady().get(), last, round.from(), round.until()));
              }
            });
  }

  /** Never two at the same time: each has ended before the next one began. */
  private static void single(History history, String service, List<String> found) {
    double until = Double.NEGATIVE_INFINITY;
    for (List<Mark> marks : lives(history.marks(), service)) {
      if (marks.getFirst().time() <= until) {
        found.add(
            "double run: a container of %s began at %.1f while another one ran until %.1f"
                .formatted(service, marks.getFirst().time(), until));
      }
      until = Math.max(until, marks.getLast().time());
    }
  }

  /** How long none ran, each time that another one began. */
  static List<Double> gaps(List<Mark> all, String service) {
    var gaps = new ArrayList<Double>();
    double until = Double.NaN;
    for (List<Mark> marks : lives(all, service)) {
      if (!Double.isNaN(until)) {
        gaps.add(marks.getFirst().time() - until);
      }
      until = marks.getLast().time();
    }
    return gaps;
  }

  /** What each container wrote, those that began first before others. */
  private static List<List<Mark>> lives(List<Mark> marks, String service) {
    return containers(marks, service).values().stream()
        .sorted(Comparator.comparingDouble(one -> one.getFirst().time()))
        .toList();
  }

  private static Map<String, List<Mark>> containers(List<Mark> marks, String service) {
    var containers = new TreeMap<String, List<Mark>>();
    marks.stream()
        .filter(mark -> mark.service().equals(service))
        .sorted(Comparator.comparingDouble(Mark::time))
        .forEach(
            mark -> containers.computeIfAbsent(mark.container(), _ -> new ArrayList<>()).add(mark));
    return containers;
  }
}
