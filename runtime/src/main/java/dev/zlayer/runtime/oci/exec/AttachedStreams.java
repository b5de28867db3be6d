package dev.zlayer.runtime.oci.exec;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.TerminalSize;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ContainerConsole;
import dev.zlayer.host.linux.Fifo;
import dev.zlayer.host.linux.OwnedDescriptor;
import dev.zlayer.host.linux.PacketSocket;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * The streams of a container's first process, through its monitor's socket. Each packet from there
 * begins with a byte that names the stream.
 *
 * <p>The monitor waits for whoever is attached, and with it the container, its log and everybody
 * else who is attached. So the socket is always read; what a slow reader has not read is kept up to
 * a bound and then discarded.
 */
public final class AttachedStreams implements ExecSession {
  private static final byte STDERR = 3;
  private static final int PACKET = 8192;

  /** Of each stream. */
  private static final long UNREAD = 4 << 20;

  /** Longer than a monitor takes to read a size on a busy machine. */
  private static final Duration MONITOR_LIMIT = Duration.ofSeconds(10);

  /** Waits for the end of the container. */
  @FunctionalInterface
  public interface End {
    ExitStatus await(Deadline deadline) throws InterruptedException;
  }

  private final OwnedDescriptor socket;
  private final Optional<Terminal> terminal;
  private final End end;

  /** conmon 2.1 applies the first of all sizes that it reads at once. */
  private final ResizeLoop monitor = new ResizeLoop(this::report, MONITOR_LIMIT);

  private volatile Optional<TerminalSize> unreported = Optional.empty();
  private final OutputBuffer stdout = new OutputBuffer(UNREAD);
  private final OutputBuffer stderr = new OutputBuffer(UNREAD);

  private AttachedStreams(OwnedDescriptor socket, Optional<Terminal> terminal, End end)
      throws IOException {
    this.socket = socket;
    this.terminal = terminal;
    this.end = end;
    socket.pauseWriters();
    DescriptorCopyLoop.start("attach", socket, sink());
  }

  /**
   * Where its size is set.
   *
   * @param process the first one, whose terminal it is
   * @param control the monitor's FIFO for sizes
   */
  public record Terminal(Optional<ProcessIdentity> process, Path control) {
    /**
     * Sets the size itself; false where it is out of reach, as when the process changed its root.
     */
    boolean resize(TerminalSize size) {
      return process.isPresent()
          && ContainerConsole.resize(process.get(), size.rows(), size.columns());
    }

    /** Has the monitor set it. */
    void report(TerminalSize size) throws IOException {
      String line = "1 %d %d\n".formatted(size.rows(), size.columns());
      if (!Fifo.write(control, line.getBytes(StandardCharsets.UTF_8))) {
        throw new IOException("the monitor has ended");
      }
    }
  }

  /** Joins them from now on. */
  public static AttachedStreams open(Path socket, Optional<Terminal> terminal, End end) {
    try {
      return new AttachedStreams(PacketSocket.connect(socket), terminal, end);
    } catch (IOException e) {
      throw new AgentException.Internal("cannot join the container: " + e.getMessage(), e);
    }
  }

  private DescriptorCopyLoop.Sink sink() {
    return new DescriptorCopyLoop.Sink() {
      @Override
      public void received(byte[] bytes, int length) {
        (bytes[0] == STDERR ? stderr : stdout).write(bytes, 1, length - 1);
      }

      @Override
      public void ended() {
        stdout.end();
        stderr.end();
      }
    };
  }

  @Override
  public OutputStream stdin() {
    return new OutputStream() {
      @Override
      public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
      }

      @Override
      public void write(byte[] bytes, int offset, int length) throws IOException {
        for (int done = 0; done < length; done += PACKET) {
          socket.write(bytes, offset + done, Math.min(PACKET, length - done));
        }
      }

      @Override
      public void close() throws IOException {
        PacketSocket.endInput(socket);
      }
    };
  }

  @Override
  public InputStream stdout() {
    return stdout.input();
  }

  @Override
  public InputStream stderr() {
    return stderr.input();
  }

  @Override
  public void resize(int rows, int columns) {
    if (terminal.isPresent()) {
      var size = new TerminalSize(rows, columns);
      unreported = Optional.of(size).filter(_ -> !terminal.get().resize(size));
      if (unreported.isPresent()) {
        reportAndRepeat();
      }
    }
  }

  private void reportAndRepeat() {
    try {
      report();
      monitor.changed();
    } catch (IOException _) {
      // the monitor ends with the process
    }
  }

  /** The size that the monitor may not have set yet, if there is one. */
  private void report() throws IOException {
    Optional<TerminalSize> size = unreported;
    if (size.isPresent()) {
      terminal.orElseThrow().report(size.get());
    }
  }

  @Override
  public long discarded() {
    return stdout.discarded() + stderr.discarded();
  }

  @Override
  public ExitStatus await(Deadline deadline) throws InterruptedException {
    return end.await(deadline);
  }

  /** Leaves; the container goes on. */
  @Override
  public void close() {
    monitor.close();
    try {
      PacketSocket.end(socket); // wakes the thread that reads, which closes it
    } catch (IOException _) {
      // the container may have ended and closed its side first
    }
    stdout.close();
    stderr.close();
  }
}
