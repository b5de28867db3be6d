package dev.zlayer.image.store;

import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Content that is about to be referred to. A pull leases a digest before it looks whether the
 * content is there, and gives it back after the index refers to it; the collector deletes only
 * under the same lock and only what is neither leased nor referred to. So nothing that a pull has
 * seen can vanish under it.
 *
 * <p>Leases live in memory: they end with the process, and the store has one process at a time.
 */
public final class Leases {
  /** Something that may only happen while nobody holds the digest. */
  @FunctionalInterface
  interface Deletion {
    boolean run() throws IOException;
  }

  private final Map<Digest, Integer> held = new HashMap<>();

  public Lease open() {
    return new Lease();
  }

  /** What one user holds; closing gives all of it back. */
  public final class Lease implements AutoCloseable {
    private final List<Digest> mine = new ArrayList<>();
    private boolean closed;

    private Lease() {}

    public Lease add(Digest digest) {
      synchronized (held) {
        held.merge(digest, 1, Integer::sum);
        mine.add(digest);
      }
      return this;
    }

    /** All that was added, also after closing. */
    public List<Digest> held() {
      synchronized (held) {
        return List.copyOf(mine);
      }
    }

    /** Harmless when done twice. */
    @Override
    public void close() {
      synchronized (held) {
        for (Digest digest : closed ? List.<Digest>of() : mine) {
          held.computeIfPresent(digest, (_, count) -> count == 1 ? null : count - 1);
        }
        closed = true;
      }
    }
  }

  /** Runs the deletion unless the digest is held; false when it did not take place. */
  boolean unlessHeld(Digest digest, Deletion deletion) throws IOException {
    synchronized (held) {
      return !held.containsKey(digest) && deletion.run();
    }
  }

  boolean isHeld(Digest digest) {
    synchronized (held) {
      return held.containsKey(digest);
    }
  }
}
