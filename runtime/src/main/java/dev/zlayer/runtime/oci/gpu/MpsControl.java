package dev.zlayer.runtime.oci.gpu;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.linux.NvidiaDriver;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The agent's own MPS daemon. It goes on without the agent, since its clients end with it; a later
 * agent finds it by the mark that says it is ours. Guarded by the lock of GPUs.
 */
final class MpsControl {
  private static final String PROGRAM = "nvidia-cuda-mps-control";

  /**
   * The daemon's socket keeps the bounds of messages, which Java's do not. The kernel finds the one
   * who listens before it compares: where nobody does it says that the connection is refused.
   */
  private static final String OTHER_TYPE = "wrong type for socket";

  private static final Duration LIMIT = Duration.ofSeconds(15);
  private static final Duration APART = Duration.ofMillis(20);

  private final Path directory;
  private final GpuCatalog catalog;
  private final Pauses pauses;

  MpsControl(Path directory, GpuCatalog catalog, Pauses pauses) {
    this.directory = directory;
    this.catalog = catalog;
    this.pauses = pauses;
  }

  /** Whether a daemon answers there; one that hangs is not waited for. */
  static Optional<String> obstacle(Path pipes) {
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      // the directories outlive the daemon: only whoever accepts connections is there
      channel.configureBlocking(false);
      boolean _ = channel.connect(UnixDomainSocketAddress.of(pipes.resolve("control")));
      return Optional.empty();
    } catch (IOException e) {
      String reason = String.valueOf(e.getMessage());
      return reason.contains(OTHER_TYPE) ? Optional.empty() : Optional.of(reason);
    }
  }

  /** Everybody can make a directory or link at a usual place before the daemon does. */
  boolean trusts(Path usual) {
    try {
      Files.createDirectories(directory);
      return Files.isDirectory(usual, LinkOption.NOFOLLOW_LINKS)
          && Files.getOwner(usual, LinkOption.NOFOLLOW_LINKS).equals(Files.getOwner(directory));
    } catch (IOException _) {
      return false; // it is being removed
    }
  }

  Path pipes() {
    return directory.resolve("pipe");
  }

  /** Started by this agent or an earlier one, and still wanted. */
  boolean ours() {
    return Files.exists(mark());
  }

  boolean answers() {
    return obstacle(pipes()).isEmpty();
  }

  /** Starts it unless it answers. */
  void ensure() throws InterruptedException {
    if (ours() && answers()) {
      return;
    }
    NvidiaDriver driver =
        catalog.driver().orElseThrow(() -> unavailable("the NVIDIA driver is not loaded"));
    Path program = driver.programs().get(PROGRAM);
    if (program == null) {
      throw unavailable(PROGRAM + " is not installed; install it with the driver");
    }
    try {
      Files.createDirectories(pipes());
      Files.createDirectories(logs());
      AtomicFile.write(mark(), new byte[0]);
      Path output = logs().resolve("start.log");
      Process process =
          Processes.start(
              Command.of(program.toString(), "-d").withEnv(environment(driver, program)),
              output.toFile());
      Deadline deadline = Deadline.after(LIMIT);
      if (!process.waitFor(deadline.leftNanos(), TimeUnit.NANOSECONDS)) {
        process.destroyForcibly();
        throw unavailable("%s did not start within %s".formatted(PROGRAM, LIMIT));
      }
      while (!answers()) {
        if (deadline.passed() || process.exitValue() != 0) {
          throw unavailable(
              "%s exited with %d and does not answer (%s): %s"
                  .formatted(
                      PROGRAM,
                      process.exitValue(),
                      obstacle(pipes()).orElse("it does now"),
                      lastLine(output)));
        }
        pauses.pause(APART);
      }
    } catch (IOException e) {
      throw unavailable("%s cannot be started: %s".formatted(PROGRAM, e.getMessage()));
    }
  }

  /** Ends it with its servers; what is not there need not end. */
  void quit() throws InterruptedException {
    if (!ours()) {
      return;
    }
    try {
      Optional<NvidiaDriver> driver = catalog.driver();
      if (answers() && driver.isPresent() && driver.get().programs().containsKey(PROGRAM)) {
        Path program = driver.get().programs().get(PROGRAM);
        var _ =
            Processes.check(
                Command.of(program.toString())
                    .withEnv(environment(driver.get(), program))
                    .withInput("quit\n".getBytes(StandardCharsets.US_ASCII)),
                Deadline.after(LIMIT));
      }
      Files.deleteIfExists(mark());
    } catch (IOException e) {
      throw new AgentException.Internal("cannot end the MPS daemon: " + e.getMessage(), e);
    }
  }

  private Path logs() {
    return directory.resolve("log");
  }

  private Path mark() {
    return directory.resolve("started");
  }

  private Map<String, String> environment(NvidiaDriver driver, Path program) {
    var env = new HashMap<String, String>();
    env.put("CUDA_MPS_PIPE_DIRECTORY", pipes().toString());
    env.put("CUDA_MPS_LOG_DIRECTORY", logs().toString());
    env.put("PATH", program.getParent() + ":/usr/sbin:/usr/bin:/sbin:/bin");
    env.putAll(driver.loaderPath("libcuda.so.1"));
    return env;
  }

  private static String lastLine(Path output) throws IOException {
    return Files.readAllLines(output).stream()
        .filter(line -> !line.isBlank())
        .reduce((_, last) -> last)
        .orElse("it printed nothing");
  }

  static AgentException unavailable(String reason) {
    return new AgentException.GpuSharingUnavailable("mps", reason);
  }
}
