package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A process that cannot be mistaken for a later one with the same number.
 *
 * @param startTicks when it began, in the kernel's ticks since the machine started
 */
public record ProcessIdentity(long pid, long startTicks) {
  /** The process that has this number now. */
  public static Optional<ProcessIdentity> of(long pid) {
    return startTicks(pid).map(ticks -> new ProcessIdentity(pid, ticks));
  }

  /** Whether it exists and has not ended (a zombie has). */
  public boolean alive() {
    return startTicks(pid).filter(ticks -> ticks == startTicks).isPresent();
  }

  /** A handle to exactly this process; empty when it is gone. */
  public Optional<PidFd> open() throws ErrnoException {
    try {
      PidFd handle = PidFd.open(pid);
      if (alive()) {
        return Optional.of(handle);
      }
      handle.close();
      return Optional.empty();
    } catch (ErrnoException e) {
      if (e.errno() == ErrnoException.ESRCH) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /** Sends a signal; false when the process is gone. */
  public boolean signal(int number) throws ErrnoException {
    Optional<PidFd> handle = open();
    if (handle.isEmpty()) {
      return false;
    }
    try (PidFd process = handle.get()) {
      process.signal(number);
      return true;
    } catch (ErrnoException e) {
      if (e.errno() == ErrnoException.ESRCH) {
        return false;
      }
      throw e;
    }
  }

  private static Optional<Long> startTicks(long pid) {
    try {
      return parse(pid, Files.readString(Path.of("/proc/" + pid + "/stat")))
          .map(ProcessIdentity::startTicks);
    } catch (IOException _) {
      return Optional.empty();
    }
  }

  /** From the text of its {@code stat} file; empty for one that has ended. */
  public static Optional<ProcessIdentity> parse(long pid, String stat) {
    try {
      // the name in parentheses may itself contain blanks and parentheses
      String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
      boolean ended = fields[0].equals("Z") || fields[0].equals("X");
      return ended
          ? Optional.empty()
          : Optional.of(new ProcessIdentity(pid, Long.parseLong(fields[19])));
    } catch (RuntimeException _) {
      return Optional.empty();
    }
  }
}
