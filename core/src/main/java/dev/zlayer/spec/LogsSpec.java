package dev.zlayer.spec;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.value.ByteSize;
import java.time.Duration;

/** Where output is kept and for how long. */
@Doc("Where and how much container output is kept.")
public record LogsSpec(
    @Doc("disk, or memory: lost when the host restarts; for services only.") @Default("disk")
        Destination destination,
    @Doc("Oldest output is dropped beyond this size.") @Default("104857600") ByteSize maxSizeBytes,
    @Doc("Output older than this is dropped.") @Default("604800") Duration retentionSecs) {
  /** Where output goes. */
  public enum Destination {
    DISK,
    MEMORY
  }
}
