package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.PrivatePlace;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** The daemon of a data directory as a process in the background, in a session of its own. */
public final class BackgroundDaemon {
  private static final Duration START = Duration.ofSeconds(30);
  private static final Duration BETWEEN_LOOKS = Duration.ofMillis(50);
  private static final int LINES_OF_LOG = 10;

  private final Session session;
  private final DataDir directory;

  private BackgroundDaemon(Session session, DataDir directory) {
    this.session = session;
    this.directory = directory;
  }

  public static BackgroundDaemon of(Session session) {
    return new BackgroundDaemon(session, Locations.dataDir(session, Optional.empty()));
  }

  /** Where its log is. */
  Path log() {
    return directory.daemonLog();
  }

  /** Starts one and returns when it answers. */
  public void start(DaemonClient client, Consumer<String> tell) throws InterruptedException {
    if (!(client.address().http() instanceof HttpAddress.Unix(Path socket))) {
      throw new AgentException.InvalidSpec(
          "cannot start a daemon on a remote host; unset ZLAYER_HOST, or start it there");
    }
    try {
      Files.createDirectories(log().toAbsolutePath().getParent());
      PrivatePlace.file(log());
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot start a daemon: cannot create %s (%s); run as root, or set ZLAYER_DATA_DIR"
              .formatted(log().getParent(), e.getMessage()),
          e);
    }
    tell.accept("starting a daemon on " + directory.data());
    long before = lengthOfLog();
    Process process =
        Processes.start(Command.of(words(socket)).withEnv(variables()), log().toFile());
    Deadline deadline = Deadline.after(START);
    while (!client.answers()) {
      if (process.waitFor(BETWEEN_LOOKS.toMillis(), TimeUnit.MILLISECONDS)
          && process.exitValue() != 0) {
        throw failed("exited at once", before);
      }
      if (deadline.passed()) {
        throw failed("does not answer after " + START.toSeconds() + " s", before);
      }
    }
  }

  /** Asks it to end and waits for that; false when none runs. */
  boolean stop(Duration patience) throws InterruptedException {
    Optional<ProcessHandle> process = process();
    if (process.isEmpty()) {
      return false;
    }
    process.get().destroy();
    Deadline deadline = Deadline.after(patience);
    while (process.get().isAlive()) {
      if (deadline.passed()) {
        throw new AgentException.Timeout(
            "waiting for the daemon (process " + process.get().pid() + ") to stop", patience);
      }
      Pauses.REAL.pause(BETWEEN_LOOKS);
    }
    return true;
  }

  /** The process that serves this directory, by the pid it left and that is still its own. */
  Optional<ProcessHandle> process() {
    try {
      long pid = Long.parseLong(Files.readString(directory.pidFile()).strip());
      return ProcessHandle.of(pid).filter(ProcessHandle::isAlive).filter(this::serves);
    } catch (IOException | NumberFormatException _) {
      return Optional.empty();
    }
  }

  /** A pid may have gone to another program since. */
  private boolean serves(ProcessHandle process) {
    return process
        .info()
        .arguments()
        .map(words -> List.of(words).contains("serve"))
        .orElseGet(() -> process.info().command().filter(c -> c.endsWith("java")).isPresent());
  }

  private Map<String, String> variables() {
    var variables = new HashMap<>(session.env());
    variables.remove(Locations.HOST);
    return variables;
  }

  private List<String> words(Path socket) {
    var words = new ArrayList<>(List.of("setsid"));
    words.addAll(Launch.words());
    words.addAll(
        List.of(
            "serve",
            "--data-dir",
            directory.data().toAbsolutePath().toString(),
            "--socket",
            socket.toAbsolutePath().toString()));
    return words;
  }

  private long lengthOfLog() {
    try {
      return Files.size(log());
    } catch (IOException _) {
      return 0; // there is none yet
    }
  }

  private AgentException failed(String how, long before) {
    return new AgentException.Configuration(
        "the daemon %s; its log %s says:\n  %s"
            .formatted(how, log(), String.join("\n  ", tail(before))));
  }

  /** What this start has logged; earlier ones are no business of it. */
  private List<String> tail(long before) {
    try (InputStream log = Files.newInputStream(log())) {
      log.skipNBytes(before);
      List<String> lines = new String(log.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
      return lines.subList(Math.max(0, lines.size() - LINES_OF_LOG), lines.size());
    } catch (IOException e) {
      return List.of("nothing that can be read: " + e.getMessage());
    }
  }
}
