package dev.zlayer.engine.service;

import java.util.Comparator;

/** A replica by its lasting identity; containers come and go in it. */
record Slot(String role, int replica) implements Comparable<Slot> {
  private static final Comparator<Slot> ORDER =
      Comparator.comparing(Slot::role).thenComparingInt(Slot::replica);

  @Override
  public int compareTo(Slot other) {
    return ORDER.compare(this, other);
  }

  String text() {
    return role + "/" + replica;
  }

  static Slot parse(String text) {
    int cut = text.lastIndexOf('/');
    return new Slot(text.substring(0, cut), Integer.parseInt(text.substring(cut + 1)));
  }
}
