package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Records for tests. */
final class Examples {
  static final Instant NOW = Instant.parse("2024-05-06T07:08:09Z");
  static final Outcome OUTCOME =
      new Outcome(new ExitStatus.Code(3), Optional.of(NOW), Optional.of(NOW.plusSeconds(1)));

  private Examples() {}

  static ContainerRecord creating() {
    return new ContainerRecord(
        LifecycleRecord.VERSION,
        ContainerId.of("shop", "web", 1),
        ContainerSpec.of(ImageRef.parse("alpine")),
        Optional.empty(),
        NOW,
        Digest.parse("sha256:" + "a".repeat(64)),
        List.of("sh", "-c", "line\nline"),
        Signal.TERM,
        List.of(),
        Optional.empty(),
        Phase.CREATING,
        0,
        Optional.empty(),
        Optional.empty(),
        Optional.empty());
  }
}
