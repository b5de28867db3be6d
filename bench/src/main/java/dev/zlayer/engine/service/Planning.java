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

  private final DesiredReplicas wanted = wanted();
  private final List<ObservedReplica> seen = seen();

  private static DesiredReplicas wanted() {
    var slots = new TreeMap<ReplicaId, String>();
    for (int replica = 1; replica <= REPLICAS; replica++) {
      slots.put(new ReplicaId("default", replica), "new");
    }
    return new DesiredReplicas(slots, true, 0, 1, Duration.ofSeconds(5), true, Map.of(), Set.of());
  }

  private static List<ObservedReplica> seen() {
    var seen = new ArrayList<ObservedReplica>();
    for (int replica = 1; replica <= REPLICAS; replica++) {
      seen.add(
          new ObservedReplica(
              new ReplicaId("default", replica),
              replica,
              replica <= REPLICAS / 2 ? "new" : "old",
              ObservedReplica.Phase.HEALTHY,
              Optional.of(NOW.minusSeconds(60))));
    }
    return seen;
  }

  @Benchmark
  public Object planAHundredReplicas() {
    return ServicePlanner.plan(wanted, seen, NOW);
  }
}
