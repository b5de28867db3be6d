package dev.zlayer.cluster.member;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * Who belongs to the cluster, as one node has seen it. Ids are never used again, so a node that was
 * removed stays removed, whatever is written into the store later. Pure.
 *
 * @param members addresses of the nodes that belong to it, by id
 * @param removed ids of those that did
 * @param revoked serial numbers of certificates that do not count any more, in hexadecimal
 */
record KnownNodes(Map<String, String> members, List<String> removed, List<String> revoked) {
  static final KnownNodes NONE = new KnownNodes(Map.of(), List.of(), List.of());

  KnownNodes {
    members = Map.copyOf(members);
    removed = List.copyOf(removed);
    revoked = List.copyOf(revoked);
  }

  KnownNodes withRevoked(List<String> serials) {
    return new KnownNodes(members, removed, serials);
  }

  /** After another list was read; one without the reader itself is not about its cluster. */
  KnownNodes after(Map<String, String> listed, String reader) {
    if (!listed.containsKey(reader)) {
      return this;
    }
    var left = new TreeSet<>(removed);
    members.keySet().stream().filter(id -> !listed.containsKey(id)).forEach(left::add);
    var present = new HashMap<>(listed);
    present.keySet().removeAll(left);
    return new KnownNodes(present, List.copyOf(left), revoked);
  }

  /** Those that were removed since. */
  Map<String, String> removedSince(KnownNodes before) {
    var gone = new HashMap<>(before.members);
    gone.keySet().retainAll(removed);
    return gone;
  }
}
