package dev.zlayer.host.process;

import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.ProcessOutput;
import dev.zlayer.host.linux.SealedCopy;
import dev.zlayer.host.linux.SpawnedProcess;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A program that is started from a copy in memory which nobody can change. OCI runtimes copy
 * themselves and start anew at each call, so that no container can write to the program on disk;
 * they do not when they see that they are such a copy, and are done in two thirds of the time.
 *
 * <p>The copy is made anew when the file on disk is another one. Where it cannot be made or
 * started, the program is started from disk: a container that gets hold of the copy can remove the
 * right to execute it, so then it is not made again.
 */
public final class SealedProgram implements AutoCloseable {
  private static final System.Logger LOG = LazyLogger.of(SealedProgram.class);
  private static final long LARGEST = 64 << 20;
  private static final byte[] ELF = {0x7f, 'E', 'L', 'F'};
  private static final int TRIAL_SECONDS = 5;

  /** Any change of the file changes one of these. */
  private static final String VERSION = "unix:dev,ino,size,lastModifiedTime,ctime";

  /** How starting a copy fails that a container has spoiled, or that this host does not permit. */
  private static final Set<Integer> REFUSED =
      Set.of(
          ErrnoException.EPERM,
          ErrnoException.ENOENT,
          ErrnoException.EACCES,
          ErrnoException.ETXTBSY,
          ErrnoException.EBADF);

  private final Path program;
  private final boolean permitted;
  private final ReentrantLock making = new ReentrantLock();
  private volatile Known known = Known.NOTHING;
  private boolean closed; // guarded by making

  /**
   * What is known of one version of the file.
   *
   * @param copy nothing when there cannot be one
   */
  private record Known(Map<String, Object> version, Optional<SealedCopy> copy) {
    static final Known NOTHING = new Known(Map.of(), Optional.empty());
  }

  private SealedProgram(Path program, boolean permitted) {
    this.program = program;
    this.permitted = permitted;
  }

  /**
   * Nothing is copied yet, and nothing will be where copies are not permitted what programs are.
   */
  public static SealedProgram of(Path program) {
    return new SealedProgram(program, SpawnedProcess.possible() && SealedCopy.asGoodAsFiles());
  }

  /** Whether this is the program that a command line begins with. */
  boolean is(String word) {
    return program.toString().equals(word);
  }

  /** Of the file as it is now; nothing where it is better started from disk. Never waits. */
  Optional<SealedCopy> copy() {
    Map<String, Object> version = permitted ? version() : Map.of();
    Known seen = known;
    if (seen.version().equals(version)) {
      return seen.copy();
    }
    if (version.isEmpty() || !making.tryLock()) {
      return Optional.empty();
    }
    try {
      if (!closed && !known.version().equals(version)) {
        known.copy().ifPresent(SealedCopy::close);
        known = make(version);
      }
      return known.copy();
    } finally {
      making.unlock();
    }
  }

  private Known make(Map<String, Object> version) {
    try {
      if (!isBinary()) {
        return new Known(version, Optional.empty());
      }
      SealedCopy copy = SealedCopy.of(program);
      if (!version.equals(version())) { // it changed meanwhile
        copy.close();
        return Known.NOTHING;
      }
      if (works(copy)) {
        return new Known(version, Optional.of(copy));
      }
      copy.close();
      LOG.log(System.Logger.Level.INFO, "{0} does not work as a copy in memory", program);
    } catch (IOException e) {
      LOG.log(
          System.Logger.Level.INFO, "{0} cannot be copied to memory: {1}", program, e.getMessage());
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return Known.NOTHING;
    }
    return new Known(version, Optional.empty());
  }

  private Map<String, Object> version() {
    try {
      return Files.readAttributes(program, VERSION);
    } catch (IOException _) {
      return Map.of(); // starting it says why
    }
  }

  /** A script would be read by a name that is gone by then. */
  private boolean isBinary() throws IOException {
    if (!Files.isRegularFile(program) || Files.size(program) > LARGEST) {
      return false;
    }
    try (InputStream content = Files.newInputStream(program)) {
      return Arrays.equals(content.readNBytes(ELF.length), ELF);
    }
  }

  /** A program that finds its libraries by its own path does not. */
  private boolean works(SealedCopy copy) throws IOException, InterruptedException {
    Command command = Command.of(program.toString(), "--version");
    try (ProcessOutput stdout = ProcessOutput.open();
        ProcessOutput stderr = ProcessOutput.open()) {
      Process process =
          SpawnedProcess.start(
              Optional.of(copy),
              command.arguments(),
              Processes.variables(Processes.builder(command)),
              command.directory(),
              stdout,
              stderr);
      process.getOutputStream().close();
      try {
        return process.waitFor(TRIAL_SECONDS, TimeUnit.SECONDS) && process.exitValue() == 0;
      } finally {
        process.destroyForcibly();
      }
    }
  }

  /**
   * Reports that a copy was not started.
   *
   * @throws ErrnoException for a reason that the program on disk would fail for, too
   */
  void failed(SealedCopy copy, ErrnoException reason) throws ErrnoException {
    if (!REFUSED.contains(reason.errno())) {
      throw reason;
    }
    making.lock();
    try {
      Known seen = known;
      if (seen.copy().filter(copy::equals).isPresent()) {
        known = new Known(seen.version(), Optional.empty());
        copy.close();
        LOG.log(
            System.Logger.Level.WARNING,
            "the copy of {0} in memory cannot be started any more ({1}); it is started from disk"
                + " until it changes",
            program,
            reason.getMessage());
      }
    } finally {
      making.unlock();
    }
  }

  /** Afterwards the program is started from disk. */
  @Override
  public void close() {
    making.lock();
    try {
      known.copy().ifPresent(SealedCopy::close);
      known = Known.NOTHING;
      closed = true;
    } finally {
      making.unlock();
    }
  }
}
