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
record WasmStarting(WasmShop shop) {
  /** The caller holds the container's lock. */
  void start(WasmCell cell) throws InterruptedException {
    try {
      requireRoom();
      Program program = shop.programs().program(cell.record().module());
      run(cell, program, LogWriter.open(cell.logs(), shop.clock()));
    } catch (IOException | IllegalStateException e) {
      throw failed(cell, String.valueOf(e.getMessage()), e);
    }
  }

  private void run(WasmCell cell, Program program, LogWriter log)
      throws IOException, InterruptedException {
    WasmRecord record = cell.record();
    boolean begun = false;
    var streams = new ModuleStreams(log, record.spec().process().stdin());
    try {
      Guest guest =
          Guest.of(
              record.arguments(),
              record.environment(),
              WasmCreating.directories(shop, cell),
              streams.guest(),
              shop.clock());
      var loop =
          new ModuleLoop(
              cell.name(),
              program,
              guest,
              streams,
              record.spec().resources().memoryBytes().orElse(shop.settings().memoryBytes()),
              () -> shop.settings().allMemoryBytes() - used(),
              shop.settings().stackBytes(),
              status -> end(cell, streams, status));
      try {
        loop.prepare();
        cell.running(shop.clock().instant(), loop);
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

  private void end(WasmCell cell, ModuleStreams streams, ExitStatus status) {
    streams.close();
    Optional<Instant> started = cell.record().startedAt();
    Instant now = shop.clock().instant();
    cell.ended(
        new Outcome(
            status, started, Optional.of(started.filter(begin -> begin.isAfter(now)).orElse(now))));
  }

  /** By the memories and tables of all modules that run. */
  private long used() {
    return shop.cells().values().stream()
        .flatMap(cell -> cell.loop().stream())
        .mapToLong(ModuleLoop::memoryBytes)
        .sum();
  }

  private void requireRoom() {
    long used = used();
    if (used > shop.settings().allMemoryBytes()) {
      throw new IllegalStateException(
          "the modules that run use %d MiB, and the agent has %d MiB for all of them"
              .formatted(used >> 20, shop.settings().allMemoryBytes() >> 20));
    }
  }

  private AgentException failed(WasmCell cell, String reason, Exception cause) {
    cell.failed(
        new Outcome(
            new ExitStatus.RuntimeError(reason),
            Optional.empty(),
            Optional.of(shop.clock().instant())));
    return new AgentException.StartFailed(cell.record().id().toString(), reason, List.of(), cause);
  }
}
