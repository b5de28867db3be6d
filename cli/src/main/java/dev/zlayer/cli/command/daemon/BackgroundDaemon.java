package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
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
import java.util.function.Consumer;

/** The daemon of a data directory as a process in the background, in a session of its own. */
public final class BackgroundDaemon {
  private static final Duration START = Duration.ofSeconds(30);
  private static final Duration BETWEEN_LOOKS = Duration.ofMillis(50);
  private static final Duration LOCK_NOTED = Duration.ofSeconds(1);
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

  /**
   * Starts one when none listens; several callers at once end up with the same one. A busy one, or
   * one that the service manager is starting, is not given a rival.
   */
  public void ensure(DaemonClient client, Consumer<String> tell) throws InterruptedException {
    if (client.address().local() && !client.listens()) {
      start(client, tell);
    }
  }

  /** Starts one and returns when it, or one that somebody else started first, answers. */
  public void start(DaemonClient client, Consumer<String> tell) throws InterruptedException {
    if (!(client.address().http() instanceof HttpAddress.Unix(Path socket))) {
      throw new AgentException.InvalidSpec(
          "cannot start a daemon on a remote host; unset ZLAYER_HOST, or start it there");
    }
    try {
      Files.createDirectories(log().toAbsolutePath().getParent());
      PrivateDirectory.file(log());
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot start a daemon: cannot create %s (%s); run as root, or set ZLAYER_DATA_DIR"
              .formatted(log().getParent(), e.getMessage()),
          e);
    }
    tell.accept("starting a daemon on " + directory.data());
    long before = lengthOfLog();
    Process process =
        Processes.start(
            Command.of(words(socket)).withEnv(variables()).inheritingAll(), log().toFile());
    Deadline deadline = Deadline.after(START);
    while (!client.answers()) {
      Pauses.REAL.pause(BETWEEN_LOOKS);
      if (!process.isAlive() && process.exitValue() != 0 && !another(process, deadline)) {
        throw failed("exited during its start", before);
      }
      if (deadline.passed()) {
        throw failed("does not answer after " + START.toSeconds() + " s", before);
      }
    }
  }

  /** Whether another daemon holds the directory; its pid is in the lock file soon after. */
  private boolean another(Process own, Deadline deadline) throws InterruptedException {
    Deadline noted = Deadline.after(LOCK_NOTED);
    while (!noted.passed() && !deadline.passed()) {
      if (serving(directory.lockFile()).filter(found -> found.pid() != own.pid()).isPresent()) {
        return true;
      }
      Pauses.REAL.pause(BETWEEN_LOOKS);
    }
    return false;
  }

  /** Asks a daemon to end and waits for that. */
  public static void stop(ProcessHandle process, Duration patience) throws InterruptedException {
    process.destroy();
    Deadline deadline = Deadline.after(patience);
    while (process.isAlive()) {
      if (deadline.passed()) {
        throw new AgentException.Timeout(
            "waiting for the daemon (process " + process.pid() + ") to end", patience);
      }
      Pauses.REAL.pause(BETWEEN_LOOKS);
    }
  }

  /**
   * The process that listens at this address: the one that answers there, or, when it does not
   * answer, the one that noted the socket beside its pid.
   */
  public Optional<ProcessHandle> process(DaemonClient client) throws InterruptedException {
    if (client.answers()) {
      long pid = client.get("/info").at("pid").integer().orElse(-1L);
      return ProcessHandle.of(pid).filter(BackgroundDaemon::serves);
    }
    return serving(directory.pidFile())
        .filter(_ -> client.address().http().equals(new HttpAddress.Unix(notedSocket())));
  }

  /** Daemons of earlier versions noted their pid only. */
  private Path notedSocket() {
    try {
      return Files.readAllLines(directory.pidFile()).stream()
          .skip(1)
          .findFirst()
          .map(Path::of)
          .orElse(directory.socket());
    } catch (IOException _) {
      return directory.socket();
    }
  }

  /** The daemon whose pid is the first line of a file. */
  private static Optional<ProcessHandle> serving(Path file) {
    try {
      long pid = Long.parseLong(Files.readString(file).lines().findFirst().orElse("").strip());
      return ProcessHandle.of(pid).filter(ProcessHandle::isAlive).filter(BackgroundDaemon::serves);
    } catch (IOException | NumberFormatException _) {
      return Optional.empty();
    }
  }

  /** A pid may have gone to another program since. */
  private static boolean serves(ProcessHandle process) {
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
    words.add("serve");
    Json configured = Configurations.read(session, Optional.empty(), Map.of()).json();
    flag(words, configured, "data_dir", "--data-dir", absolute(directory.data()));
    if (!socket.equals(directory.socket()) || set(configured, "socket")) {
      flag(words, configured, "socket", "--socket", absolute(socket));
    }
    return words;
  }

  /** Only where the configuration says something else: 'config show' names the source of each. */
  private static void flag(
      List<String> words, Json configured, String key, String flag, String value) {
    boolean same = configured.at(key).at("value").string().filter(value::equals).isPresent();
    if (!same) {
      words.addAll(List.of(flag, value));
    }
  }

  private static boolean set(Json configured, String key) {
    return configured.at(key).at("value").string().filter(text -> !text.isEmpty()).isPresent();
  }

  private static String absolute(Path path) {
    return path.toAbsolutePath().toString();
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
