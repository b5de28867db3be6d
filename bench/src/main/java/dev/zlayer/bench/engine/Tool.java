package dev.zlayer.bench.engine;

import dev.zlayer.bench.Rounds;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;

/** Runs programs of the peers, and their daemons. */
public final class Tool {
  private static final Duration LIMIT = Duration.ofMinutes(3);

  /** What is measured is how long a daemon takes, not how seldom it is asked. */
  private static final Duration POLL = Duration.ofMillis(4);

  private static final List<String> DIRECTORIES =
      List.of("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin");

  private Tool() {}

  /**
   * Where a contestant keeps what a reboot may take: in memory, as all of them do by themselves.
   * The path contains the given one, by which its processes are known.
   */
  static Path fleeting(Path directory) {
    return Path.of("/run" + directory);
  }

  public static boolean installed(String program) {
    return DIRECTORIES.stream()
        .anyMatch(directory -> Files.isExecutable(Path.of(directory, program)));
  }

  /** What it prints; any exit code other than 0 is an error. */
  public static String run(List<String> command) throws InterruptedException {
    return run(Command.of(command));
  }

  public static String run(String... command) throws InterruptedException {
    return run(Command.of(command));
  }

  public static String run(Command command) throws InterruptedException {
    return run(command, LIMIT);
  }

  static String run(Command command, Duration limit) throws InterruptedException {
    return Processes.check(command, Deadline.after(limit)).stdout();
  }

  /** Starts a daemon and waits until it answers. */
  static Process daemon(Command command, Path log, Rounds.Step question) {
    Process process = Processes.start(command, log.toFile());
    try {
      Awaitility.await(command.program())
          .atMost(LIMIT)
          .pollDelay(Duration.ZERO)
          .pollInterval(POLL)
          .until(() -> answers(process, question, log));
    } catch (RuntimeException e) {
      end(process);
      throw e;
    }
    return process;
  }

  private static boolean answers(Process process, Rounds.Step question, Path log) throws Exception {
    if (!process.isAlive()) {
      throw new IllegalStateException("ended at once: " + Files.readString(log));
    }
    try {
      question.run();
      return true;
    } catch (IOException | AgentException _) {
      return false;
    }
  }

  static void end(Process process) {
    process.destroy();
    try {
      if (!process.waitFor(30, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException _) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
