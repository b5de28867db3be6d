package dev.zlayer.oci;

/** When to ask the registry for an image. */
public enum PullPolicy {
  /** Resolve at the registry and have exactly what it names now. */
  ALWAYS,
  /**
   * Ask the registry for the digest and download only when it changed; offline, keep what is there.
   */
  NEWER,
  /** Any local copy is good. */
  IF_NOT_PRESENT,
  /** No network at all; absent is an error. */
  NEVER
}
