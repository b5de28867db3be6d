package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.Outcome;
import dev.zlayer.oci.Digest;
import dev.zlayer.runtime.lifecycle.LifecycleRecord;
import dev.zlayer.runtime.lifecycle.Phase;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What is kept on disk about one container. Written before the step it announces.
 *
 * @param image digest of the manifest
 * @param module digest of the module's bytes
 * @param arguments what the module sees, image and spec joined
 * @param phase running means: in the agent that wrote this, or when that agent died
 * @param run counts the starts
 */
record WasmRecord(
    int version,
    ContainerId id,
    ContainerSpec spec,
    Instant createdAt,
    Digest image,
    Digest module,
    List<String> arguments,
    Map<String, String> environment,
    Phase phase,
    int run,
    Optional<Instant> startedAt,
    Optional<Outcome> outcome)
    implements LifecycleRecord<WasmRecord> {
  WasmRecord {
    arguments = List.copyOf(arguments);
    environment = Collections.unmodifiableMap(new LinkedHashMap<>(environment));
  }

  @Override
  public List<String> command() {
    return arguments;
  }

  /** A module is a thread of the agent and has no process of its own. */
  @Override
  public OptionalLong pid() {
    return OptionalLong.empty();
  }

  @Override
  public WasmRecord withPhase(Phase phase) {
    return with(phase, run, startedAt, outcome);
  }

  WasmRecord running(Instant now) {
    return with(Phase.RUNNING, run + 1, Optional.of(now), Optional.empty());
  }

  @Override
  public WasmRecord ended(Outcome outcome) {
    return with(Phase.ENDED, run, startedAt, Optional.of(outcome));
  }

  private WasmRecord with(
      Phase phase, int run, Optional<Instant> startedAt, Optional<Outcome> outcome) {
    return new WasmRecord(
        version,
        id,
        spec,
        createdAt,
        image,
        module,
        arguments,
        environment,
        phase,
        run,
        startedAt,
        outcome);
  }
}
