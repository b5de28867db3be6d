package dev.zlayer.container;

/**
 * The users and groups that one container has of its own: inside they are numbered from 0 to {@link
 * #SIZE}, and on the host from {@code first} on.
 */
public record IdRange(long first) {
  /** As many as everybody expects to exist: nobody is 65534. */
  public static final int SIZE = 65_536;

  /** How the kernel shows whoever is not among those of a namespace. */
  public static final int NOBODY = 65_534;

  private static final long MOST = 0xffff_ffffL;

  public IdRange {
    if (first < SIZE || first + SIZE > MOST) {
      throw new IllegalArgumentException("ids cannot begin at " + first);
    }
  }

  public boolean has(long inside) {
    return inside >= 0 && inside < SIZE;
  }

  /** What the host calls one of the container's. */
  public long outside(long inside) {
    if (!has(inside)) {
      throw new IllegalArgumentException("id " + inside + " is not among those of a container");
    }
    return first + inside;
  }

  /** What the container calls one of the host's. */
  public long inside(long outside) {
    return has(outside - first) ? outside - first : NOBODY;
  }
}
