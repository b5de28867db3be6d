package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.Optional;

/** A terminal made in software: what a program sees at its other side, we read and write here. */
public final class PseudoTerminal implements AutoCloseable {
  private static final int O_RDWR = 2;
  private static final int O_NOCTTY = 0x100;
  private static final int O_CLOEXEC = 0x80000;
  private static final int PATH_BYTES = 128;

  /** More than any machine's struct termios. */
  private static final int TERMIOS_BYTES = 128;

  private static final long TIOCSWINSZ = 0x5414;
  private static final MethodHandle OPEN = Libc.bind("posix_openpt", Libc.INT, Libc.INT);
  private static final MethodHandle UNLOCK = Libc.bind("unlockpt", Libc.INT, Libc.INT);
  private static final MethodHandle NAME =
      Libc.bind("ptsname_r", Libc.INT, Libc.INT, Libc.POINTER, Libc.LONG);
  private static final MethodHandle GET = Libc.bind("tcgetattr", Libc.INT, Libc.INT, Libc.POINTER);
  private static final MethodHandle SET =
      Libc.bind("tcsetattr", Libc.INT, Libc.INT, Libc.INT, Libc.POINTER);
  private static final MethodHandle MAKE_RAW = Libc.bind("cfmakeraw", Libc.INT, Libc.POINTER);
  private static final MethodHandle IOCTL =
      Libc.bindVariadic("ioctl", 2, Libc.INT, Libc.INT, Libc.LONG, Libc.POINTER);

  private final Descriptor master;
  private final Optional<Path> path;

  private PseudoTerminal(Descriptor master, Optional<Path> path) {
    this.master = master;
    this.path = path;
  }

  /** Makes one that passes every byte on as it is. */
  public static PseudoTerminal open() throws IOException {
    try (var call = Libc.call()) {
      int fd = (int) OPEN.invokeExact(call.errno(), O_RDWR | O_NOCTTY | O_CLOEXEC);
      var master = new Descriptor(call.check(fd, "open a terminal"));
      try {
        return prepared(call, fd, master);
      } catch (Throwable e) {
        master.close();
        throw e;
      }
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }

  private static PseudoTerminal prepared(Libc.Call call, int fd, Descriptor master)
      throws Throwable {
    call.check((int) UNLOCK.invokeExact(call.errno(), fd), "unlock a terminal");
    MemorySegment name = call.allocate(PATH_BYTES);
    call.check(
        (int) NAME.invokeExact(call.errno(), fd, name, (long) PATH_BYTES), "name a terminal");
    MemorySegment settings = call.allocate(TERMIOS_BYTES);
    call.check((int) GET.invokeExact(call.errno(), fd, settings), "read a terminal's settings");
    int ignored = (int) MAKE_RAW.invokeExact(call.errno(), settings);
    call.check(
        (int) SET.invokeExact(call.errno(), fd, ignored * 0, settings),
        "change a terminal's settings");
    return new PseudoTerminal(master, Optional.of(Path.of(name.getString(0))));
  }

  /** One that was made by another process, in a file system that this one need not see. */
  static PseudoTerminal received(Descriptor master) {
    return new PseudoTerminal(master, Optional.empty());
  }

  /** Where programs open it; only of one that was opened here. */
  public Path path() {
    return path.orElseThrow();
  }

  public Descriptor master() {
    return master;
  }

  public void resize(int rows, int columns) throws IOException {
    resize(master, rows, columns);
  }

  /** From either side. */
  static void resize(Descriptor terminal, int rows, int columns) throws IOException {
    try (var using = terminal.use();
        var call = Libc.call()) {
      MemorySegment size = call.allocate(Short.BYTES * 4L);
      size.set(ValueLayout.JAVA_SHORT, 0, (short) rows);
      size.set(ValueLayout.JAVA_SHORT, Short.BYTES, (short) columns);
      call.check(
          (int) IOCTL.invokeExact(call.errno(), using.number(), TIOCSWINSZ, size),
          "resize a terminal");
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }

  @Override
  public void close() {
    master.close();
  }
}
