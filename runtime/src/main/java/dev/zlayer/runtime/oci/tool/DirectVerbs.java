package dev.zlayer.runtime.oci.tool;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ControlGroup;
import dev.zlayer.host.linux.Fifo;
import dev.zlayer.host.linux.PidFd;
import dev.zlayer.host.linux.ProcessFacts;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * What runc and crun keep about their containers, as far as we change it ourselves: to start one
 * and to forget one are a few system calls each, but as verbs they cost a process that first has to
 * come up and read everything. Both decline where things are not as expected; then the verb is run.
 */
final class DirectVerbs {
  /** A process that is created waits for somebody at its other end; it is gone once it runs. */
  private static final String START_PIPE = "exec.fifo";

  private static final int USUAL_MILLIS = 20;
  private static final Duration PAUSE = Duration.ofMillis(5);
  private static final Duration GROUP_TIMEOUT = Duration.ofMillis(20);
  private static final Duration GROUP_PAUSE = Duration.ofMillis(1);

  private final Dialect dialect;
  private final Path root;
  private final String program;

  /** {@code program} as it was called, which is what a process that waits is called too. */
  DirectVerbs(Dialect dialect, Path program, Path root) {
    this.dialect = dialect;
    this.root = root;
    this.program = program.toString();
  }

  /**
   * Lets the waiting process run.
   *
   * @return false when there is nothing of that kind that waits
   */
  boolean release(String name, ProcessIdentity waiting, Deadline deadline)
      throws ToolFailed, InterruptedException {
    try {
      Optional<PidFd> process = waiting.open();
      if (process.isEmpty()) {
        return false;
      }
      try (PidFd other = process.get()) {
        return switch (dialect) {
          case RUNC -> read(name, other, deadline);
          case CRUN -> Fifo.tell(startPipe(name));
        };
      }
    } catch (IOException e) {
      throw new ToolFailed("cannot start container %s: %s".formatted(name, e.getMessage()));
    }
  }

  private boolean read(String name, PidFd writer, Deadline deadline)
      throws IOException, InterruptedException {
    Optional<Fifo> pipe = Fifo.open(startPipe(name));
    if (pipe.isEmpty()) {
      return false;
    }
    try (Fifo reading = pipe.get()) {
      return read(reading, writer, deadline);
    }
  }

  private static boolean read(Fifo pipe, PidFd writer, Deadline deadline)
      throws IOException, InterruptedException {
    int millis = USUAL_MILLIS;
    while (true) {
      switch (pipe.await(writer, millis)) {
        case WRITTEN -> {
          return true;
        }
        case ENDED -> {
          return false;
        }
        case NOTHING_YET -> {}
      }
      if (deadline.passed()) {
        throw new AgentException.Timeout("waiting for a container to start", deadline.limit());
      }
      millis = 0; // a wait in the kernel would keep other tasks from this thread
      Pauses.REAL.pause(PAUSE);
    }
  }

  /** Whether a created process has not been let go: it is still the runtime's own. */
  boolean waits(ProcessIdentity process) throws ToolFailed {
    try {
      return ProcessFacts.find(process.pid())
          .filter(facts -> dialect.waits(program, facts.command()))
          .isPresent();
    } catch (IOException e) {
      throw new ToolFailed(
          "process %d cannot be read: %s".formatted(process.pid(), e.getMessage()));
    }
  }

  /** From now on the runtime calls it running. */
  void released(String name) throws ToolFailed {
    try {
      Files.deleteIfExists(startPipe(name));
    } catch (IOException e) {
      throw new ToolFailed(
          "container %s cannot be marked as running: %s".formatted(name, e.getMessage()));
    }
  }

  /**
   * Takes what is left of a container without processes.
   *
   * @return false when there still are some
   */
  boolean forget(String name, ControlGroup group) throws ToolFailed, InterruptedException {
    try {
      Deadline patience = Deadline.after(GROUP_TIMEOUT);
      // the kernel lets go of the last process of a group a moment after its parent knows
      while (!group.remove()) {
        if (patience.passed()) {
          return false;
        }
        Pauses.REAL.pause(GROUP_PAUSE);
      }
      RootedDirectory.removeTree(root.resolve(name));
      return true;
    } catch (IOException e) {
      throw new ToolFailed("container %s cannot be forgotten: %s".formatted(name, e.getMessage()));
    }
  }

  private Path startPipe(String name) {
    return root.resolve(name).resolve(START_PIPE);
  }
}
