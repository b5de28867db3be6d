package dev.zlayer.runtime.oci.exec;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Descriptor;
import dev.zlayer.host.linux.PacketSocket;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/**
 * The streams of a container's first process, through its monitor's socket. Each packet from there
 * begins with a byte that names the stream.
 */
public final class Attachment implements ExecSession {
  private static final byte STDERR = 3;
  private static final int PACKET = 8192;

  /** Waits for the end of the container. */
  @FunctionalInterface
  public interface End {
    ExitStatus await(Deadline deadline) throws InterruptedException;
  }

  private final Descriptor socket;
  private final Optional<Path> control;
  private final End end;
  private final BytePipe stdout;
  private final BytePipe stderr;

  private Attachment(Descriptor socket, Optional<Path> control, End end) throws IOException {
    this.socket = socket;
    this.control = control;
    this.end = end;
    this.stdout = new BytePipe();
    this.stderr = new BytePipe();
    DescriptorCopyLoop.start("attach", socket, sink());
  }

  /** {@code control} is the monitor's FIFO for the size of the terminal, if there is one. */
  public static Attachment open(Path socket, Optional<Path> control, End end) {
    try {
      return new Attachment(PacketSocket.connect(socket), control, end);
    } catch (IOException e) {
      throw new AgentException.Internal("cannot join the container: " + e.getMessage(), e);
    }
  }

  private DescriptorCopyLoop.Sink sink() {
    return new DescriptorCopyLoop.Sink() {
      @Override
      public void received(byte[] bytes, int length) throws IOException {
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
    if (control.isEmpty()) {
      return;
    }
    try {
      Files.writeString(
          control.get(), "1 %d %d\n".formatted(rows, columns), StandardOpenOption.WRITE);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot resize the terminal", e);
    }
  }

  @Override
  public ExitStatus await(Deadline deadline) throws InterruptedException {
    return end.await(deadline);
  }

  /** Leaves; the container goes on. */
  @Override
  public void close() {
    try {
      PacketSocket.end(socket); // wakes the thread that reads, which closes it
    } catch (IOException _) {
      // the container may have ended and closed its side first
    }
    stdout.close();
    stderr.close();
  }
}
