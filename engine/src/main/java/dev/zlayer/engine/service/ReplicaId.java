package dev.zlayer.engine.service;

import java.util.Comparator;

/** A replica by its lasting identity; containers come and go in it. */
record ReplicaId(String role, int replica) implements Comparable<ReplicaId> {
  private static final Comparator<ReplicaId> ORDER =
      Comparator.comparing(ReplicaId::role).thenComparingInt(ReplicaId::replica);

  @Override
  public int compareTo(ReplicaId other) {
    return ORDER.compare(this, other);
  }

  String text() {
    return role + "/" + replica;
  }

  static ReplicaId parse(String text) {
    int cut = text.lastIndexOf('/');
    return new ReplicaId(text.substring(0, cut), Integer.parseInt(text.substring(cut + 1)));
  }
}
