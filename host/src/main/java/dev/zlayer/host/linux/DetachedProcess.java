package dev.zlayer.host.linux;

import dev.zlayer.task.Deadline;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A program whose first process goes soon, while one that it forked goes on and tells a line over
 * descriptor 3. It reads and prints nothing but errors, which are kept in memory. Belongs to one
 * thread, which waits without holding one of the operating system's.
 */
public final class DetachedProcess implements AutoCloseable {
  private static final int KILL = 9;

  private final long pid;
  private final OwnedDescriptor told;
  private final OwnedDescriptor errors;
  private final ReadyLoop loop;
  private OptionalInt code = OptionalInt.empty();

  private DetachedProcess(long pid, OwnedDescriptor told, OwnedDescriptor errors, ReadyLoop loop) {
    this.pid = pid;
    this.told = told;
    this.errors = errors;
    this.loop = loop;
  }

  /** Whether this host can start any. */
  public static boolean possible() {
    return Spawn.known();
  }

  /**
   * Starts the program.
   *
   * @param environment all of it, each as {@code NAME=value}
   * @throws ErrnoException there is no such program or directory, or it cannot be executed
   */
  public static DetachedProcess start(
      List<String> arguments, List<String> environment, Optional<Path> directory, ReadyLoop loop)
      throws IOException {
    Descriptors.Pipe pipe = Descriptors.pipe();
    try (OwnedDescriptor writing = pipe.writing();
        OwnedDescriptor nothing = Descriptors.nothing()) {
      OwnedDescriptor errors = Descriptors.memory("errors");
      try {
        var given = List.of(nothing, nothing, errors, writing);
        long pid = Spawn.start(arguments, environment, directory, given);
        return new DetachedProcess(pid, pipe.reading(), errors, loop);
      } catch (IOException | RuntimeException e) {
        errors.close();
        throw e;
      }
    } catch (IOException | RuntimeException e) {
      pipe.reading().close();
      throw e;
    }
  }

  /** The first process, until it has ended. */
  public long pid() {
    return pid;
  }

  /**
   * What it told up to the end of the first line, or all when everyone who could tell more has
   * gone; empty when the deadline came first.
   */
  public Optional<byte[]> line(int limit, Deadline deadline)
      throws IOException, InterruptedException {
    var line = new ByteArrayOutputStream();
    byte[] piece = new byte[4096];
    while (line.size() < limit) {
      if (!loop.await(told, deadline)) {
        return Optional.empty();
      }
      int count = told.read(piece);
      for (int i = 0; i < count; i++) {
        line.write(piece[i]);
        if (piece[i] == '\n') {
          return Optional.of(line.toByteArray());
        }
      }
      if (count == 0) {
        break;
      }
    }
    return Optional.of(line.toByteArray());
  }

  /** How the first process ended; empty when the deadline came first. */
  public OptionalInt exitCode(Deadline deadline) throws IOException, InterruptedException {
    if (!ended()) {
      try (PidFd process = PidFd.open(pid)) {
        if (loop.await(process.descriptor(), deadline)) {
          boolean _ = ended();
        }
      }
    }
    return code;
  }

  /** Whether the first process has. */
  public boolean ended() {
    if (code.isEmpty()) {
      code = Spawn.exitCode(pid);
    }
    return code.isPresent();
  }

  /** What was printed as errors until now, by the one that goes on too. */
  public byte[] errors(int limit) throws IOException {
    return Descriptors.contents(errors, limit);
  }

  /** Ends the first process if it has not. */
  public void kill() throws IOException {
    if (!ended()) {
      try (PidFd process = PidFd.open(pid)) {
        process.signal(KILL);
      }
    }
  }

  /** Leaves the processes as they are; the first one is reaped whenever it ends. */
  @Override
  public void close() throws IOException {
    told.close();
    errors.close();
    if (!ended()) {
      loop.reap(pid, PidFd.open(pid));
    }
  }
}
