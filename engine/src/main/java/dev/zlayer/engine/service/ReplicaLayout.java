package dev.zlayer.engine.service;

import java.util.Collections;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** How many replicas of each role there should be, and what they are made from if that is known. */
record ReplicaLayout(Map<String, Integer> counts, Map<String, String> hashes) {
  static final ReplicaLayout EMPTY = new ReplicaLayout(Map.of(), Map.of());

  ReplicaLayout {
    counts = Map.copyOf(counts);
    hashes = Map.copyOf(hashes);
  }

  /** Every replica with its hash, which is empty while it is not known. */
  NavigableMap<ReplicaId, String> slots() {
    var slots = new TreeMap<ReplicaId, String>();
    counts.forEach(
        (role, count) -> {
          for (int replica = 1; replica <= count; replica++) {
            slots.put(new ReplicaId(role, replica), hashes.getOrDefault(role, ""));
          }
        });
    return Collections.unmodifiableNavigableMap(slots);
  }
}
