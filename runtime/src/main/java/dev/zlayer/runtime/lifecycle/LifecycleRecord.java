package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.Outcome;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.oci.Digest;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.UnaryOperator;

/** What every record of a container tells, whatever runs it. */
public interface LifecycleRecord<R extends LifecycleRecord<R>> {
  /**
   * Version 1 was the whole record in one file, with the same members; version 3 can have ids and
   * users, version 4 logs in memory, version 5 named GPUs and limits on shared ones, version 6
   * devices under other paths and rules for them, version 7 parts of volumes and binds that pass
   * mounts on.
   */
  StoredFormat FORMAT =
      StoredFormat.of(
          "the record of a container",
          UnaryOperator.identity(),
          UnaryOperator.identity(),
          UnaryOperator.identity(),
          UnaryOperator.identity(),
          UnaryOperator.identity(),
          UnaryOperator.identity());

  /** Of what is written; all earlier ones are read. */
  int VERSION = FORMAT.version();

  ContainerId id();

  ContainerSpec spec();

  Instant createdAt();

  Digest image();

  /** What runs, image and spec joined. */
  List<String> command();

  Phase phase();

  /** Counts the starts. */
  int run();

  Optional<Instant> startedAt();

  /** Of the last run, once it has ended. */
  Optional<Outcome> outcome();

  /** Of the first process, where there is one. */
  OptionalLong pid();

  R withPhase(Phase phase);

  R ended(Outcome outcome);
}
