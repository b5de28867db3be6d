package dev.zlayer.runtime.oci;

/** Is told every step between which the agent may die; does nothing in production. */
@FunctionalInterface
public interface Faults {
  Faults NONE = _ -> {};

  /** The named step, such as {@code create.root}, is done and the next has not begun. */
  void reached(String step);
}
