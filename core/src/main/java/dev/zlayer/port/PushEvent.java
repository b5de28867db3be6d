package dev.zlayer.port;

import dev.zlayer.oci.Digest;

/** Progress of one push. */
public sealed interface PushEvent {
  /** A layer or the configuration has moved on. */
  record BlobProgress(Digest blob, Step step, long done, long total) implements PushEvent {}

  /** Something was tried again; for people. */
  record Notice(String text) implements PushEvent {}

  /** Where a blob is; {@code EXISTS} and {@code MOUNTED} end it without an upload. */
  enum Step {
    WAITING,
    EXISTS,
    MOUNTED,
    PUSHING,
    PUSHED
  }
}
