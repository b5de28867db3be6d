package dev.zlayer.port;

import dev.zlayer.oci.Digest;

/** Progress of one pull, for bars and plain lines alike. */
public sealed interface PullEvent {
  /** The reference was resolved; {@code layers} layers follow, of {@code bytes} in all. */
  record Resolved(Digest manifest, int layers, long bytes) implements PullEvent {}

  /** One layer has moved on. */
  record LayerProgress(Digest layer, Step step, long done, long total) implements PullEvent {}

  /** Something was tried again, or another mirror is used; for people. */
  record Notice(String text) implements PullEvent {}

  /** Where a layer is; steps come in this order, {@code PRESENT} stands alone. */
  enum Step {
    PRESENT,
    WAITING,
    DOWNLOADING,
    VERIFYING,
    UNPACKING,
    DONE
  }
}
