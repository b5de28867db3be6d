package dev.zlayer.runtime.oci.exec;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.PseudoTerminal;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * A command on a terminal: the one inside, where the OCI runtime hands that out. Else the runtime
 * is between two of them: the one inside, and ours, whose size it copies whenever it is signalled
 * that it changed.
 */
final class TerminalSession implements ExecSession {
  private final ExecCall exec;
  private final PseudoTerminal terminal;
  private final BytePipe output;
  private final Optional<ResizeLoop> sizes;

  private TerminalSession(
      ExecCall exec,
      PseudoTerminal terminal,
      Optional<ResizeLoop> sizes,
      UnaryOperator<byte[]> lines)
      throws IOException {
    this.exec = exec;
    this.terminal = terminal;
    terminal.master().pauseWriters();
    this.output = new BytePipe();
    this.sizes = sizes;
    DescriptorCopyLoop.start(
        "exec-terminal",
        terminal.master(),
        new DescriptorCopyLoop.Sink() {
          @Override
          public void received(byte[] bytes, int length) throws IOException {
            byte[] shown = lines.apply(Arrays.copyOf(bytes, length));
            output.write(shown, 0, shown.length);
          }

          @Override
          public void ended() {
            output.end();
          }
        });
  }

  /** The terminal is the one inside. */
  static TerminalSession inside(ExecCall exec, PseudoTerminal terminal) throws IOException {
    return new TerminalSession(exec, terminal, Optional.empty(), UnaryOperator.identity());
  }

  /**
   * The terminal is the OCI runtime's own, which copies everything. runc has the one inside end its
   * lines without a return, and only when its program may have written some: so each is given one
   * here.
   */
  static TerminalSession ofRuntime(ExecCall exec, PseudoTerminal terminal) throws IOException {
    return new TerminalSession(
        exec,
        terminal,
        Optional.of(ResizeLoop.signalling(exec.runtime().pid())),
        new LineEnds()::returned);
  }

  /** Ends each line with a return and a line feed, those that already do so too. */
  static final class LineEnds {
    private byte last;

    byte[] returned(byte[] bytes) {
      var fresh = new ByteArrayOutputStream(bytes.length + 16);
      for (byte one : bytes) {
        if (one == '\n' && last != '\r') {
          fresh.write('\r');
        }
        fresh.write(one);
        last = one;
      }
      return fresh.toByteArray();
    }
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
        terminal.master().write(bytes, offset, length);
      }
    };
  }

  @Override
  public InputStream stdout() {
    return output.input();
  }

  @Override
  public InputStream stderr() {
    return InputStream.nullInputStream();
  }

  @Override
  public void resize(int rows, int columns) {
    try {
      terminal.resize(rows, columns);
      sizes.ifPresent(ResizeLoop::changed);
    } catch (ErrnoException e) {
      if (e.errno() != ErrnoException.EBADF) { // closed: the process has ended
        throw new UncheckedIOException("cannot resize the terminal", e);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("cannot resize the terminal", e);
    }
  }

  @Override
  public ExitStatus await(Deadline deadline) throws InterruptedException {
    return exec.await(deadline);
  }

  @Override
  public void close() {
    sizes.ifPresent(ResizeLoop::close);
    try {
      exec.end(); // whoever reads or writes the terminal is woken by the end of its other side
    } finally {
      terminal.close();
      output.close();
    }
  }
}
