package dev.zlayer.runtime.life;

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
  protected abstract void run(Cell cell) throws ToolFailed, IOException, InterruptedException;

  /** Leaves no process of the container and no monitor. */
  protected abstract void takeProcesses(Cell cell)
      throws ToolFailed, IOException, InterruptedException;

  protected abstract LogReader logs(Cell cell, LogQuery query);

  /** The caller holds the container's lock. */
  public final void start(Cell cell) throws InterruptedException {
    ContainerRecord before = cell.record();
    cell.save(record -> record.starting(clock.instant()));
    try {
      run(cell);
    } catch (InterruptedException e) {
      undo(cell, e);
      cell.save(_ -> before);
      throw e;
    } catch (ToolFailed e) {
      throw failed(cell, e.reason(), e);
    } catch (IOException e) {
      throw failed(cell, String.valueOf(e.getMessage()), e);
    } catch (AgentException e) {
      undo(cell, e);
      note(cell, String.valueOf(e.getMessage()));
      throw e;
    }
  }

  private AgentException failed(Cell cell, String reason, Exception cause) {
    undo(cell, cause);
    note(cell, reason);
    return new AgentException.StartFailed(
        cell.record().id().toString(), reason, lastLines(cell), cause);
  }

  private void note(Cell cell, String reason) {
    cell.end(
        cell.record().run(),
        new Outcome(
            new ExitStatus.RuntimeError(reason), Optional.empty(), Optional.of(clock.instant())));
  }

  private void undo(Cell cell, Exception cause) {
    Undoing.undo(
        cause,
        () -> {
          try {
            takeProcesses(cell);
          } catch (ToolFailed e) {
            throw new IOException(e.reason(), e);
          }
        });
  }

  private List<String> lastLines(Cell cell) {
    try (var reader = logs(cell, LogQuery.ALL.withTail(10))) {
      return LogLines.read(reader);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException _) {
      // the lines are a courtesy; the reason of the failure matters more than theirs
    }
    return List.of();
  }
}
