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
      LogWriter log = LogWriter.open(state.logs(), context.clock());
      run(state, program(state, log), log);
    } catch (IOException | IllegalStateException e) {
      throw failed(state, String.valueOf(e.getMessage()), e);
    }
  }

  private Program program(WasmContainerState state, LogWriter log)
      throws IOException, InterruptedException {
    Program program = null;
    try {
      program = context.programs().program(state.record().module());
      return program;
    } finally {
      if (program == null) {
        log.close();
      }
    }
  }

  private void run(WasmContainerState state, Program program, LogWriter log)
      throws IOException, InterruptedException {
    WasmRecord record = state.record();
    boolean launched = false;
    boolean begun = false;
    var streams = new ModuleStreams(log, record.spec().process().stdin());
    try {
      var account =
          new MemoryAccount(
              context.budget(),
              record.spec().resources().memoryBytes().orElse(context.settings().memoryBytes()));
      Guest guest =
          Guest.of(
              record.arguments(),
              record.environment(),
              WasmCreator.directories(context, state),
              streams.guest(),
              account,
              context.clock());
      var loop =
          new ModuleLoop(
              state.name(),
              program,
              guest,
              streams,
              account,
              context.settings().stackBytes(),
              status -> end(state, streams, status));
      try {
        loop.launch();
        launched = true; // from here on its thread releases the program
        loop.awaitReady();
        state.running(context.clock().instant(), loop);
        begun = true;
        loop.go();
      } finally {
        if (!begun) {
          loop.drop();
        }
      }
    } finally {
      if (!launched) {
        program.release();
      }
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

  private AgentException failed(WasmContainerState state, String reason, Exception cause) {
    state.failed(
        new Outcome(
            new ExitStatus.RuntimeError(reason),
            Optional.empty(),
            Optional.of(context.clock().instant())));
    return new AgentException.StartFailed(state.record().id().toString(), reason, List.of(), cause);
  }
}
