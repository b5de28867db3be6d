package dev.zlayer.engine.service;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * How many replicas of each role there should be, and what they are made from if that is known.
 *
 * @param numbers of the replicas of a role where they are not those from 1 on
 * @param marks what replicas have of their own, behind the hash of their role
 */
record ReplicaLayout(
    Map<String, Integer> counts,
    Map<String, String> hashes,
    Map<String, List<Integer>> numbers,
    Map<ReplicaId, String> marks) {
  static final ReplicaLayout EMPTY = new ReplicaLayout(Map.of(), Map.of(), Map.of(), Map.of());

  ReplicaLayout {
    counts = Map.copyOf(counts);
    hashes = Map.copyOf(hashes);
    numbers = Map.copyOf(numbers);
    marks = Map.copyOf(marks);
  }

  /** Every replica with its hash, which is empty while it is not known. */
  NavigableMap<ReplicaId, String> slots() {
    var slots = new TreeMap<ReplicaId, String>();
    counts.forEach(
        (role, count) -> {
          List<Integer> given = numbers.getOrDefault(role, List.of());
          for (int i = 0; i < count; i++) {
            int replica = given.isEmpty() ? i + 1 : given.get(i);
            var slot = new ReplicaId(role, replica);
            String hash = hashes.getOrDefault(role, "");
            slots.put(slot, hash.isEmpty() ? hash : hash + marks.getOrDefault(slot, ""));
          }
        });
    return Collections.unmodifiableNavigableMap(slots);
  }
}
