package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The terminal of a container's first process, as the container has it at {@code /dev/console}. */
public final class ContainerConsole {
  private static final String PLACE = "dev/console";
  private static final long AT_FDCWD = -100;
  private static final long O_RDWR = 2;
  private static final long O_NOCTTY = 0x100;
  private static final long O_NONBLOCK = 0x800;
  private static final long O_CLOEXEC = 0x80000;
  private static final long O_PATH = 0x200000;

  /** Majors of the terminals that are made in software. */
  private static final int FIRST_MAJOR = 136;

  private static final int LAST_MAJOR = 143;

  private ContainerConsole() {}

  /**
   * Sets the size at once; false when the process has ended or its terminal cannot be reached from
   * here.
   */
  public static boolean resize(ProcessIdentity process, int rows, int columns) {
    try (OwnedDescriptor root = RootedFiles.openRoot(ContainerRoot.of(process.pid()));
        OwnedDescriptor held = RootedFiles.openIn(root, PLACE, O_PATH | O_CLOEXEC)) {
      if (!process.alive()) {
        return false; // the root may have been another process's
      }
      try (OwnedDescriptor terminal = reopen(held)) {
        PseudoTerminal.resize(terminal, rows, columns);
        return true;
      }
    } catch (IOException _) {
      return false;
    }
  }

  /** Only a terminal: to open another device would do something to the host. */
  private static OwnedDescriptor reopen(OwnedDescriptor held) throws IOException {
    try (var using = held.use();
        var call = Libc.call()) {
      Path place = Path.of("/proc/self/fd/" + using.number());
      int device = (int) Files.getAttribute(place, "unix:mode") >> 12 == 2 ? major(place) : 0;
      if (device < FIRST_MAJOR || device > LAST_MAJOR) {
        throw new IOException("/dev/console of the container is no terminal");
      }
      long name = call.string(place.toString()).address();
      long flags = O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
      return new OwnedDescriptor(
          (int)
              call.check(
                  Syscall.OPENAT.invoke(call.errno(), AT_FDCWD, name, flags, 0, 0, 0),
                  "open the terminal of a container"));
    }
  }

  private static int major(Path place) throws IOException {
    long device = (long) Files.getAttribute(place, "unix:rdev");
    return (int) (device >> 8 & 0xFFF);
  }
}
