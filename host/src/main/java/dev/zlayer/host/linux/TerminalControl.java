package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The terminal behind a descriptor of this process: its size, and how it passes keys on. */
public final class TerminalControl {
  /** More than any machine's struct termios. */
  private static final int TERMIOS_BYTES = 128;

  private static final int AFTER_OUTPUT = 1;
  private static final long TIOCGWINSZ = 0x5413;
  private static final Libc.Function GET = Libc.bind("tcgetattr");
  private static final Libc.Function SET = Libc.bind("tcsetattr");
  private static final Libc.Function MAKE_RAW = Libc.bind("cfmakeraw");
  private static final Libc.Function IOCTL = Libc.bind("ioctl");

  private final int descriptor;

  private TerminalControl(int descriptor) {
    this.descriptor = descriptor;
  }

  public static TerminalControl of(int descriptor) {
    return new TerminalControl(descriptor);
  }

  /** Rows and columns of the window. */
  public record Size(int rows, int columns) {}

  /** The settings as they were; closing brings them back, also twice. */
  public interface Saved extends AutoCloseable {
    @Override
    void close();
  }

  public Size size() throws IOException {
    try (var call = Libc.call()) {
      MemorySegment size = call.allocate(Short.BYTES * 4L);
      call.check(
          IOCTL.call(call, descriptor, TIOCGWINSZ, size.address()), "ask a terminal for its size");
      return new Size(
          Short.toUnsignedInt(size.get(ValueLayout.JAVA_SHORT, 0)),
          Short.toUnsignedInt(size.get(ValueLayout.JAVA_SHORT, Short.BYTES)));
    }
  }

  /** From now on every key is passed on as it is typed, unseen by the kernel. */
  public Saved raw() throws IOException {
    Arena kept = Arena.ofShared();
    MemorySegment before = kept.allocate(TERMIOS_BYTES, 8);
    try (var call = Libc.call()) {
      call.check(GET.call(call, descriptor, before.address()), "read a terminal's settings");
      MemorySegment raw = call.allocate(TERMIOS_BYTES);
      raw.copyFrom(before);
      MAKE_RAW.call(call, raw.address());
      call.check(
          SET.call(call, descriptor, AFTER_OUTPUT, raw.address()), "change a terminal's settings");
    } catch (IOException e) {
      kept.close();
      throw e;
    }
    return () -> restore(before);
  }

  /** A terminal that has gone meanwhile needs nothing back. */
  private void restore(MemorySegment before) {
    try (var call = Libc.call()) {
      int result = SET.call(call, descriptor, AFTER_OUTPUT, before.address());
      assert result <= 0;
    }
  }
}
