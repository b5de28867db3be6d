package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.container.Stats;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Attachable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ExecSession;
import dev.zlayer.port.LogReader;
import dev.zlayer.runtime.lifecycle.Phase;
import dev.zlayer.runtime.lifecycle.StatefulContainer;
import dev.zlayer.runtime.log.LogFileReader;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/** A handle to one container; see {@link Container}. */
final class WasmContainer extends StatefulContainer<WasmRecord> implements Attachable {
  /** What these do to a program that handles none of them is nothing. */
  private static final Set<Signal> IGNORED =
      Set.of(
          Signal.parse("CHLD"), Signal.parse("CONT"), Signal.parse("URG"), Signal.parse("WINCH"));

  private static final Set<Signal> FREEZING =
      Set.of(
          Signal.parse("STOP"), Signal.parse("TSTP"), Signal.parse("TTIN"), Signal.parse("TTOU"));

  private final WasmContext context;
  private final WasmContainerState state;

  WasmContainer(WasmContext context, WasmContainerState state) {
    super(WasmRuntime.NAME, state);
    this.context = context;
    this.state = state;
  }

  @Override
  public ContainerDetails inspect() {
    return details(Optional.empty());
  }

  @Override
  public void start() throws InterruptedException {
    try (var _ = context.locks().lock(state.name())) {
      requirePresent();
      if (!status().alive()) {
        new WasmStarter(context).start(state);
      }
    }
  }

  /** A module handles no signals, so the stop signal does to it what it does by default. */
  @Override
  public Optional<Outcome> stop(Duration grace) throws InterruptedException {
    try (var _ = context.locks().lock(state.name())) {
      requirePresent();
      Optional<ModuleLoop> loop = state.loop();
      if (loop.isPresent()) {
        state.stopping();
        signal(loop.get(), spec().stop().signal().orElse(Signal.TERM));
        if (!loop.get().awaitEnd(Deadline.after(grace))) {
          end(loop.get());
        }
      }
      return state.record().outcome();
    }
  }

  @Override
  public void kill(Signal signal) throws InterruptedException {
    requirePresent();
    signal(state.loop().orElseThrow(this::notRunning), signal);
  }

  private static void signal(ModuleLoop loop, Signal signal) {
    if (FREEZING.contains(signal)) {
      throw new AgentException.Unsupported(
          "runtime 'wasm': %s: a module cannot be frozen".formatted(signal));
    }
    if (!IGNORED.contains(signal)) {
      loop.end(signal);
    }
  }

  private void end(ModuleLoop loop) throws InterruptedException {
    loop.end(Signal.KILL);
    if (!loop.awaitEnd(Deadline.after(context.settings().endLimit()))) {
      throw new AgentException.Internal(
          "the module of container %s does not end: it waits for a file of the host"
              .formatted(id()));
    }
  }

  @Override
  public void remove(boolean force) throws InterruptedException {
    if (force) {
      state.loop().ifPresent(loop -> loop.end(Signal.KILL));
    }
    try (var _ = context.locks().lock(state.name())) {
      if (state.view().now().removed()) {
        return;
      }
      Optional<ModuleLoop> loop = state.loop();
      if (loop.isPresent()) {
        if (!force) {
          throw stillRuns();
        }
        end(loop.get());
      }
      state.save(record -> record.withPhase(Phase.REMOVING));
      context.dismantle(state);
    } catch (IOException e) {
      throw new AgentException.Internal(
          "container %s could not be removed: %s".formatted(id(), e.getMessage()), e);
    }
  }

  @Override
  public LogReader logs(LogQuery query) {
    requirePresent();
    return LogFileReader.open(state.logs(), query, context.logWatch(), state, context.clock());
  }

  @Override
  public ExecSession exec(ExecSpec spec) {
    requirePresent();
    running();
    throw new AgentException.Unsupported(
        "runtime 'wasm': exec: a module is one program, there is no other one inside");
  }

  @Override
  public ExecSession attach() {
    requirePresent();
    return new ModuleSession(
        running().streams(), deadline -> await(WaitCondition.NOT_RUNNING, deadline).status());
  }

  @Override
  public Stats stats() {
    requirePresent();
    ModuleLoop loop = running();
    return new Stats(
        context.clock().instant(),
        loop.cpuNanos(),
        loop.memoryBytes(),
        OptionalLong.of(spec().resources().memoryBytes().orElse(context.settings().memoryBytes())),
        1,
        OptionalLong.of(1),
        0,
        0,
        0,
        0);
  }

  private ModuleLoop running() {
    return state.loop().orElseThrow(this::notRunning);
  }
}
