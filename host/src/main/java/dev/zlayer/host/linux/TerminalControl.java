package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** The terminal behind a descriptor of this process: its size, and how it passes keys on. */
public final class TerminalControl {
  /** More than any machine's struct termios. */
  private static final int TERMIOS_BYTES = 128;

  private static final int AFTER_OUTPUT = 1;
  private static final long TIOCGWINSZ = 0x5413;
  private static final MethodHandle GET = Libc.bind("tcgetattr", Libc.INT, Libc.INT, Libc.POINTER);
  private static final MethodHandle SET =
      Libc.bind("tcsetattr", Libc.INT, Libc.INT, Libc.INT, Libc.POINTER);
  private static final MethodHandle MAKE_RAW = Libc.bind("cfmakeraw", Libc.INT, Libc.POINTER);
  private static final MethodHandle IOCTL =
      Libc.bindVariadic("ioctl", 2, Libc.INT, Libc.INT, Libc.LONG, Libc.POINTER);

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
          (int) IOCTL.invokeExact(call.errno(), descriptor, TIOCGWINSZ, size),
          "ask a terminal for its size");
      return new Size(
          Short.toUnsignedInt(size.get(ValueLayout.JAVA_SHORT, 0)),
          Short.toUnsignedInt(size.get(ValueLayout.JAVA_SHORT, Short.BYTES)));
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }

  /** From now on every key is passed on as it is typed, unseen by the kernel. */
  public Saved raw() throws IOException {
    Arena kept = Arena.ofShared();
    MemorySegment before = kept.allocate(TERMIOS_BYTES, 8);
    try (var call = Libc.call()) {
      call.check(
          (int) GET.invokeExact(call.errno(), descriptor, before), "read a terminal's settings");
      MemorySegment raw = call.allocate(TERMIOS_BYTES);
      raw.copyFrom(before);
      int ignored = (int) MAKE_RAW.invokeExact(call.errno(), raw);
      call.check(
          (int) SET.invokeExact(call.errno(), descriptor, AFTER_OUTPUT + ignored * 0, raw),
          "change a terminal's settings");
    } catch (IOException e) {
      kept.close();
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
    return () -> restore(before);
  }

  /** A terminal that has gone meanwhile needs nothing back. */
  private void restore(MemorySegment before) {
    try (var call = Libc.call()) {
      int result = (int) SET.invokeExact(call.errno(), descriptor, AFTER_OUTPUT, before);
      assert result <= 0;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }
}
