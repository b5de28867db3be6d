package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.error.AgentException;
import dev.zlayer.runtime.log.LogWriter;
import dev.zlayer.runtime.wasm.module.Program;
import dev.zlayer.runtime.wasm.wasi.Guest;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Runs the module of a container that is made, for the first time or again. */
record WasmStarter(WasmContext context) {
  /** The caller holds the container's lock. */
  void start(WasmContainerState state) throws InterruptedException {
    try {
      requireRoom();
      Program program = context.programs().program(state.record().module());
      run(state, program, LogWriter.open(state.logs(), context.clock()));
    } catch (IOException | IllegalStateException e) {
      throw failed(state, String.valueOf(e.getMessage()), e);
    }
  }

  private void run(WasmContainerState state, Program program, LogWriter log)
      throws IOException, InterruptedException {
    WasmRecord record = state.record();
    boolean begun = false;
    var streams = new ModuleStreams(log, record.spec().process().stdin());
    try {
      Guest guest =
          Guest.of(
              record.arguments(),
              record.environment(),
              WasmCreator.directories(context, state),
              streams.guest(),
              context.clock());
      var loop =
          new ModuleLoop(
              state.name(),
              program,
              guest,
              streams,
              record.spec().resources().memoryBytes().orElse(context.settings().memoryBytes()),
              () -> context.settings().allMemoryBytes() - used(),
              context.settings().stackBytes(),
              status -> end(state, streams, status));
      try {
        loop.prepare();
        state.running(context.clock().instant(), loop);
        begun = true;
        loop.go();
      } finally {
        if (!begun) {
          loop.drop();
        }
      }
    } finally {
      if (!begun) {
        streams.close();
      }
    }
  }

  private void end(WasmContainerState state, ModuleStreams streams, ExitStatus status) {
    streams.close();
    Optional<Instant> started = state.record().startedAt();
    Instant now = context.clock().instant();
    state.ended(
        new Outcome(
            status, started, Optional.of(started.filter(begin -> begin.isAfter(now)).orElse(now))));
  }

  /** By the memories and tables of all modules that run. */
  private long used() {
    return context.states().values().stream()
        .flatMap(state -> state.loop().stream())
        .mapToLong(ModuleLoop::memoryBytes)
        .sum();
  }

  private void requireRoom() {
    long used = used();
    if (used > context.settings().allMemoryBytes()) {
      throw new IllegalStateException(
          "the modules that run use %d MiB, and the agent has %d MiB for all of them"
              .formatted(used >> 20, context.settings().allMemoryBytes() >> 20));
    }
  }

  private AgentException failed(WasmContainerState state, String reason, Exception cause) {
    state.failed(
        new Outcome(
            new ExitStatus.RuntimeError(reason),
            Optional.empty(),
            Optional.of(context.clock().instant())));
    return new AgentException.StartFailed(state.record().id().toString(), reason, List.of(), cause);
  }
}
