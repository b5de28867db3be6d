package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
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

  /** Where struct termios has c_oflag. */
  private static final int OUTPUT_FLAGS = 4;

  private static final int ONLCR = 4;
  private static final long TIOCSWINSZ = 0x5414;
  private static final Libc.Function OPEN = Libc.bind("posix_openpt");
  private static final Libc.Function UNLOCK = Libc.bind("unlockpt");
  private static final Libc.Function NAME = Libc.bind("ptsname_r");
  private static final Libc.Function GET = Libc.bind("tcgetattr");
  private static final Libc.Function SET = Libc.bind("tcsetattr");
  private static final Libc.Function MAKE_RAW = Libc.bind("cfmakeraw");
  private static final Libc.Function IOCTL = Libc.bind("ioctl");

  private final OwnedDescriptor master;
  private final Optional<Path> path;

  private PseudoTerminal(OwnedDescriptor master, Optional<Path> path) {
    this.master = master;
    this.path = path;
  }

  /** Makes one that passes every byte on as it is. */
  public static PseudoTerminal open() throws IOException {
    try (var call = Libc.call()) {
      int fd = OPEN.call(call, O_RDWR | O_NOCTTY | O_CLOEXEC);
      var master = new OwnedDescriptor(call.check(fd, "open a terminal"));
      try {
        return prepared(call, fd, master);
      } catch (Throwable e) {
        master.close();
        throw e;
      }
    }
  }

  private static PseudoTerminal prepared(Libc.Call call, int fd, OwnedDescriptor master)
      throws IOException {
    call.check(UNLOCK.call(call, fd), "unlock a terminal");
    MemorySegment name = call.allocate(PATH_BYTES);
    call.check(NAME.call(call, fd, name.address(), PATH_BYTES), "name a terminal");
    MemorySegment settings = call.allocate(TERMIOS_BYTES);
    call.check(GET.call(call, fd, settings.address()), "read a terminal's settings");
    MAKE_RAW.call(call, settings.address());
    // it says nothing in a raw one, but runc has its terminal write again as this tells
    int output = settings.get(ValueLayout.JAVA_INT, OUTPUT_FLAGS);
    settings.set(ValueLayout.JAVA_INT, OUTPUT_FLAGS, output & ~ONLCR);
    call.check(SET.call(call, fd, 0, settings.address()), "change a terminal's settings");
    return new PseudoTerminal(master, Optional.of(Path.of(name.getString(0))));
  }

  /** One that was made by another process, in a file system that this one need not see. */
  static PseudoTerminal received(OwnedDescriptor master) {
    return new PseudoTerminal(master, Optional.empty());
  }

  /** Where programs open it; only of one that was opened here. */
  public Path path() {
    return path.orElseThrow();
  }

  public OwnedDescriptor master() {
    return master;
  }

  public void resize(int rows, int columns) throws IOException {
    resize(master, rows, columns);
  }

  /** From either side. */
  static void resize(OwnedDescriptor terminal, int rows, int columns) throws IOException {
    try (var using = terminal.use();
        var call = Libc.call()) {
      MemorySegment size = call.allocate(Short.BYTES * 4L);
      size.set(ValueLayout.JAVA_SHORT, 0, (short) rows);
      size.set(ValueLayout.JAVA_SHORT, Short.BYTES, (short) columns);
      call.check(IOCTL.call(call, using.number(), TIOCSWINSZ, size.address()), "resize a terminal");
    }
  }

  @Override
  public void close() {
    master.close();
  }
}
