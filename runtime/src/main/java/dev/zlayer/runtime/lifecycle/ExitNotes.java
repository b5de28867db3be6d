package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.function.IntFunction;

/** What a monitor's note tells about the end of a process. */
public final class ExitNotes {
  private static final int SIGNALLED = 128;
  private static final int LAST_SIGNAL = 64;

  private ExitNotes() {}

  /** Whether a number can mean that SIGKILL ended it, by whomever it was sent. */
  public static boolean killed(int code) {
    return code == SIGNALLED + Signal.KILL.number();
  }

  /**
   * Shells, monitors and init processes write 128 + n for signal n. Where nobody knows which it
   * was, it counts as a signal, which is far more frequent.
   */
  public static ExitStatus status(int code) {
    return code > SIGNALLED && code <= SIGNALLED + LAST_SIGNAL
        ? new ExitStatus.Signalled(new Signal(code - SIGNALLED))
        : new ExitStatus.Code(code);
  }

  /** The outcome of a run from the file that its monitor wrote last. */
  public static Outcome read(Path file, ContainerRecord record, IntFunction<ExitStatus> meaning) {
    try {
      Instant noted = Files.getLastModifiedTime(file).toInstant();
      // times of files lag by up to a tick of the kernel, and nothing ends before it began
      Instant finished = record.startedAt().filter(noted::isBefore).orElse(noted);
      int code = Integer.parseInt(Files.readString(file).strip());
      return new Outcome(meaning.apply(code), record.startedAt(), Optional.of(finished));
    } catch (NoSuchFileException _) {
      return unknown(record, "its monitor ended without a note, perhaps with the machine");
    } catch (IOException | NumberFormatException e) {
      return unknown(record, "%s cannot be read: %s".formatted(file, e.getMessage()));
    }
  }

  private static Outcome unknown(ContainerRecord record, String reason) {
    return new Outcome(new ExitStatus.Unknown(reason), record.startedAt(), Optional.empty());
  }
}
