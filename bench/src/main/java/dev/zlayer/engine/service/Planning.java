package dev.zlayer.engine.service;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** One look at a service of a hundred replicas in the middle of an update. */
@State(Scope.Benchmark)
public class Planning {
  private static final int REPLICAS = 100;
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

  private final Wanted wanted = wanted();
  private final List<Seen> seen = seen();

  private static Wanted wanted() {
    var slots = new TreeMap<Slot, String>();
    for (int replica = 1; replica <= REPLICAS; replica++) {
      slots.put(new Slot("default", replica), "new");
    }
    return new Wanted(slots, true, 0, 1, Duration.ofSeconds(5), true, Map.of(), Set.of());
  }

  private static List<Seen> seen() {
    var seen = new ArrayList<Seen>();
    for (int replica = 1; replica <= REPLICAS; replica++) {
      seen.add(
          new Seen(
              new Slot("default", replica),
              replica,
              replica <= REPLICAS / 2 ? "new" : "old",
              Seen.Phase.HEALTHY,
              Optional.of(NOW.minusSeconds(60))));
    }
    return seen;
  }

  @Benchmark
  public Object planAHundredReplicas() {
    return ServicePlanner.plan(wanted, seen, NOW);
  }
}
