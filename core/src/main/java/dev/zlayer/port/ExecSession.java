package dev.zlayer.port;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.task.Deadline;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * A process run by {@link Container#exec}. With a terminal everything arrives on {@link #stdout}.
 * Closing the session ends the process if it still runs. A command that does not exist exits with
 * 127, one that cannot be executed with 126.
 */
public interface ExecSession extends AutoCloseable {
  /** What the process reads; without stdin in the spec it is closed from the start. */
  OutputStream stdin();

  InputStream stdout();

  InputStream stderr();

  /** Sets the size of the terminal; ignored without one. */
  void resize(int rows, int columns);

  /**
   * How many bytes of output were discarded until now since they were not read in time; always 0
   * where the process waits for its reader.
   */
  default long discarded() {
    return 0;
  }

  /**
   * Blocks until the process has ended.
   *
   * @throws dev.zlayer.error.AgentException.Timeout the deadline passed; the process still runs
   */
  ExitStatus await(Deadline deadline) throws InterruptedException;

  @Override
  void close();
}
