package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Outcome;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.LogLines;
import dev.zlayer.port.LogReader;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import java.io.IOException;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * Runs the process of a container that is made, for the first time or again; whatever fails leaves
 * no process, and the reason in the record.
 */
public abstract class Starter {
  private final InstantSource clock;

  protected Starter(InstantSource clock) {
    this.clock = clock;
  }

  /** Starts it and saves that it runs. */
  protected abstract void run(ContainerState state)
      throws ToolFailed, IOException, InterruptedException;

  /** Leaves no process of the container and no monitor. */
  protected abstract void takeProcesses(ContainerState state)
      throws ToolFailed, IOException, InterruptedException;

  protected abstract LogReader logs(ContainerState state, LogQuery query);

  /** A part of a start. */
  @FunctionalInterface
  protected interface Step {
    void run(ContainerState state) throws ToolFailed, IOException, InterruptedException;
  }

  /** The caller holds the container's lock. */
  public final void start(ContainerState state) throws InterruptedException {
    begin(state, this::run);
  }

  /** Records that it is being started, and does a part of that. */
  protected final void begin(ContainerState state, Step step) throws InterruptedException {
    ContainerRecord before = state.record();
    state.save(record -> record.starting(clock.instant()));
    attempt(state, step, _ -> before);
  }

  /**
   * Does a part of a start that is recorded; {@code undone} is the record when it is interrupted.
   */
  protected final void attempt(
      ContainerState state, Step step, UnaryOperator<ContainerRecord> undone)
      throws InterruptedException {
    try {
      step.run(state);
    } catch (InterruptedException e) {
      undo(state, e);
      state.save(undone);
      throw e;
    } catch (ToolFailed e) {
      throw failed(state, e.reason(), e);
    } catch (IOException e) {
      throw failed(state, String.valueOf(e.getMessage()), e);
    } catch (AgentException e) {
      undo(state, e);
      note(state, String.valueOf(e.getMessage()));
      throw e;
    }
  }

  private AgentException failed(ContainerState state, String reason, Exception cause) {
    undo(state, cause);
    note(state, reason);
    return new AgentException.StartFailed(
        state.record().id().toString(), reason, lastLines(state), cause);
  }

  private void note(ContainerState state, String reason) {
    state.end(
        state.record().run(),
        new Outcome(
            new ExitStatus.RuntimeError(reason), Optional.empty(), Optional.of(clock.instant())));
  }

  private void undo(ContainerState state, Exception cause) {
    CreateUndo.undo(
        cause,
        () -> {
          try {
            takeProcesses(state);
          } catch (ToolFailed e) {
            throw new IOException(e.reason(), e);
          }
        });
  }

  private List<String> lastLines(ContainerState state) {
    try (var reader = logs(state, LogQuery.ALL.withTail(10))) {
      return LogLines.read(reader);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException _) {
      // the lines are a courtesy; the reason of the failure matters more than theirs
    }
    return List.of();
  }
}
