package dev.zlayer.proxy.ingress;

import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * HAProxy in master-worker mode, as a process of its own that outlives the agent. A shell starts it
 * again when it crashes, with the configuration on disk, which is therefore always the current one.
 * A lock keeps a second one away. Whoever answers on its sockets in our directory is ours.
 */
final class Haproxy {
  private static final String ACCOUNT = "haproxy";
  private static final String CONFIG = "haproxy.cfg";
  private static final String CANDIDATE = "candidate.cfg";
  private static final String MASTER_SOCKET = "m";
  private static final String LOG = "haproxy.log";
  private static final String LOCK = "lock";
  private static final long MOST_LOG = 1 << 20;

  /** A line has to fit into HAProxy's buffer. */
  private static final int MOST_COMMANDS = 30;

  private static final int LONGEST_LINE = 8_000;
  private static final Duration STEP = Duration.ofMillis(10);

  /** A reload takes about 50 ms; on a busy machine much longer, and is not to be begun twice. */
  private static final Duration RELOAD = Duration.ofSeconds(2);

  /** It ends when HAProxy was asked to end, or cannot start: 1. */
  private static final String SUPERVISE =
      "while :; do \"$@\"; case $? in 0|1|143) exit;; *) sleep 0.1;; esac; done";

  /** It has both ends of the pipe, so that writing never fails while nobody reads. */
  private static final String START =
      "log=$1; pipe=$2; shift 2; [ -p \"$pipe\" ] || mkfifo -m 600 \"$pipe\" || exit;"
          + " exec >>\"$log\" 2>&1 0<>\"$pipe\"; exec setsid --fork \"$@\"";

  private final IngressConfig config;
  private final Pauses pauses;
  private final HaproxySocket master;
  private final HaproxySocket worker;

  Haproxy(IngressConfig config, Pauses pauses) {
    this.config = config;
    this.pauses = pauses;
    this.master = new HaproxySocket(config.directory().resolve(MASTER_SOCKET));
    this.worker = new HaproxySocket(config.directory().resolve(HaproxyConfig.WORKER_SOCKET));
  }

  /** Why it cannot run here. */
  Optional<String> obstacle() {
    return Files.isExecutable(config.haproxy())
        ? Optional.empty()
        : Optional.of(
            "routing by host or path needs HAProxy, which is not installed; install the package"
                + " haproxy");
  }

  /** The account that serves requests; the package makes it. */
  static Optional<String> account() {
    try {
      return Files.readAllLines(Path.of("/etc/passwd"), StandardCharsets.ISO_8859_1).stream()
              .anyMatch(line -> line.startsWith(ACCOUNT + ":"))
          ? Optional.of(ACCOUNT)
          : Optional.empty();
    } catch (IOException _) {
      return Optional.empty();
    }
  }

  /** Makes it the configuration of the next start or reload. */
  void write(HaproxyConfig wanted) {
    try {
      Files.createDirectories(config.directory().resolve(HaproxyConfig.CHROOT));
      for (Map.Entry<String, String> file : wanted.files().entrySet()) {
        write(file.getKey(), file.getValue());
      }
      write(CONFIG, wanted.text());
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot write the configuration of the ingress: " + e.getMessage(), e);
    }
  }

  private void write(String name, String text) throws IOException {
    AtomicFile.writeRelaxed(
        config.directory().resolve(name), text.getBytes(StandardCharsets.UTF_8));
  }

  /** Why HAProxy cannot use a configuration, asked before it replaces one that works. */
  Optional<String> refusal(HaproxyConfig wanted) throws InterruptedException {
    try {
      Files.createDirectories(config.directory().resolve(HaproxyConfig.CHROOT));
      for (Map.Entry<String, String> file : wanted.files().entrySet()) {
        if (!Files.exists(config.directory().resolve(file.getKey()))) {
          write(file.getKey(), file.getValue());
        }
      }
      write(CANDIDATE, wanted.text());
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot write the configuration of the ingress: " + e.getMessage(), e);
    }
    CommandResult result =
        Processes.run(
            Command.of(
                config.haproxy().toString(),
                "-c",
                "-f",
                config.directory().resolve(CANDIDATE).toString()),
            Deadline.after(config.limit()));
    if (result.success()) {
      return Optional.empty();
    }
    String reason = alert(result.stderr()).orElseGet(result::lastLine);
    if (result.code() != 1) {
      throw new AgentException.Configuration(
          "HAProxy cannot check the configuration of the ingress, it ended with %d: %s"
              .formatted(result.code(), reason));
    }
    return Optional.of(reason);
  }

  /** Which configuration serves requests; empty when it does not run. */
  Optional<String> serving() {
    return info("description");
  }

  private Optional<String> info(String name) {
    try {
      return worker
          .ask("show info")
          .lines()
          .filter(line -> line.startsWith(name + ":"))
          .map(line -> line.substring(line.indexOf(':') + 1).strip())
          .findFirst();
    } catch (IOException _) {
      return Optional.empty();
    }
  }

  /** Starts it, or lets the running one read its configuration; no connection is refused. */
  void serve(HaproxyConfig wanted) throws InterruptedException {
    Deadline deadline = Deadline.after(config.limit());
    long logged = logSize();
    boolean running = serving().isPresent();
    if (!running) {
      start(deadline);
    }
    var reload = new Reload();
    while (!serving().equals(Optional.of(wanted.fingerprint()))) {
      if (running) {
        reload.ask();
      }
      Optional<String> reason = alert(logged);
      if (reason.isPresent() || deadline.passed()) {
        throw new AgentException.Configuration(
            "the ingress cannot start: %s"
                .formatted(reason.orElse("HAProxy did not answer within " + config.limit())));
      }
      pauses.pause(STEP);
    }
  }

  /** Lets another worker read the same configuration; no connection is refused. */
  void renew() throws InterruptedException {
    Deadline deadline = Deadline.after(config.limit());
    Optional<String> before = info("Pid");
    var reload = new Reload();
    Optional<String> now = before;
    while (now.isEmpty() || now.equals(before)) {
      if (deadline.passed()) {
        throw new AgentException.Timeout("reloading HAProxy", config.limit());
      }
      reload.ask();
      pauses.pause(STEP);
      now = info("Pid");
    }
  }

  /** What the worker that accepts requests says to a command. */
  String ask(String command) {
    try {
      return worker.ask(command);
    } catch (IOException e) {
      throw new AgentException.Configuration("HAProxy does not answer: " + e.getMessage(), e);
    }
  }

  private void start(Deadline deadline) throws InterruptedException {
    Path directory = config.directory();
    var arguments =
        new ArrayList<>(
            List.of(
                "/bin/sh",
                "-c",
                START,
                "sh",
                directory.resolve(LOG).toString(),
                AccessLog.pipe(config).toString(),
                "flock",
                "-n",
                "-o",
                directory.resolve(LOCK).toString(),
                "/bin/sh",
                "-c",
                SUPERVISE,
                "sh"));
    arguments.addAll(
        List.of(
            config.haproxy().toString(),
            "-W",
            "-f",
            directory.resolve(CONFIG).toString(),
            "-S",
            master.path() + ",mode,600,level,admin"));
    CommandResult result = Processes.run(Command.of(arguments), deadline);
    if (!result.success()) {
      throw new AgentException.Configuration("cannot start HAProxy: " + result.lastLine());
    }
  }

  /**
   * The master executes itself anew after each fork of a worker, also the first one. What it is
   * sent meanwhile is refused or lost, so it is asked again until something comes of it.
   */
  private final class Reload {
    private Deadline next = Deadline.after(Duration.ZERO);

    void ask() {
      if (!next.passed()) {
        return;
      }
      try {
        String _ = master.ask("reload");
        next = Deadline.after(RELOAD);
      } catch (IOException _) {
        next = Deadline.after(STEP);
      }
    }
  }

  private long logSize() {
    try {
      Path log = config.directory().resolve(LOG);
      return Files.exists(log) ? Files.size(log) : 0;
    } catch (IOException _) {
      return 0;
    }
  }

  /** It is only read right after a start or a reload, and HAProxy appends to it for ever. */
  void trimLog() {
    if (logSize() > MOST_LOG) {
      try (var log =
          Files.newByteChannel(config.directory().resolve(LOG), StandardOpenOption.WRITE)) {
        var _ = log.truncate(0);
      } catch (IOException _) {
        // tried again with the next round
      }
    }
  }

  /** Why it did not start, from what it logged since. */
  private Optional<String> alert(long from) {
    try (var log = Files.newByteChannel(config.directory().resolve(LOG))) {
      log.position(from);
      String text =
          new String(Channels.newInputStream(log).readAllBytes(), StandardCharsets.ISO_8859_1);
      return alert(text);
    } catch (IOException _) {
      return Optional.empty();
    }
  }

  private static Optional<String> alert(String log) {
    return log.lines()
        .filter(line -> line.startsWith("[ALERT]") && line.contains(" : "))
        .filter(line -> !line.contains("has no server available"))
        .map(line -> line.substring(line.indexOf(" : ") + 3))
        .findFirst();
  }

  /**
   * Applies commands to all workers: those of an earlier configuration still have connections, and
   * have to know who is ready, too.
   */
  void command(List<String> commands) throws InterruptedException {
    Deadline deadline = Deadline.after(config.limit());
    while (true) {
      try {
        for (long pid : processes("worker")) {
          for (String line : lines(commands, pid)) {
            String _ = master.ask(line);
          }
        }
        return;
      } catch (IOException e) {
        // a master that has just forked a worker executes itself again and listens anew
        if (deadline.passed()) {
          throw new AgentException.Configuration("HAProxy does not answer: " + e.getMessage(), e);
        }
        pauses.pause(STEP);
      }
    }
  }

  /** As many commands in a line as HAProxy reads at once. */
  private static List<String> lines(List<String> commands, long pid) {
    var lines = new ArrayList<String>();
    var line = new StringBuilder();
    for (String command : commands) {
      if (line.length() + command.length() > LONGEST_LINE) {
        lines.add(line.toString());
        line.setLength(0);
      }
      line.append(line.isEmpty() ? "" : ";").append("@!%d %s".formatted(pid, command));
    }
    lines.add(line.toString());
    return lines;
  }

  /** The servers of a backend as the current worker has them. */
  List<ServerLine> servers(String backend) {
    try {
      return worker
          .ask("show servers state " + backend)
          .lines()
          .map(line -> line.split(" ", -1))
          .filter(fields -> fields.length > 18 && fields[1].equals(backend))
          .map(
              fields ->
                  new ServerLine(
                      fields[3], fields[4], fields[18], !fields[5].equals("0"), fields[7]))
          .toList();
    } catch (IOException e) {
      throw new AgentException.Configuration("HAProxy does not answer: " + e.getMessage(), e);
    }
  }

  /** What the current worker counted; nothing when it does not run. */
  Map<String, Traffic> traffic() {
    try {
      return Traffic.parse(worker.ask("show stat"));
    } catch (IOException _) {
      return Map.of();
    }
  }

  /**
   * The same of these backends, with their servers if asked for: the answer about a thousand hosts
   * has megabytes.
   */
  Map<String, Traffic> traffic(List<String> backends, boolean withServers) {
    var all = new HashMap<String, Traffic>();
    try {
      for (int from = 0; from < backends.size(); from += MOST_COMMANDS) {
        List<String> some = backends.subList(from, Math.min(backends.size(), from + MOST_COMMANDS));
        String line =
            some.stream()
                .map(one -> "show stat %s %d -1".formatted(one, withServers ? 6 : 2))
                .collect(Collectors.joining(";"));
        all.putAll(Traffic.parse(worker.ask(line)));
      }
    } catch (IOException _) {
      return Map.of();
    }
    return all;
  }

  /** The entries of a map as the current worker has them. */
  String map(String name) {
    try {
      return worker.ask("show map " + config.directory().resolve(name));
    } catch (IOException e) {
      throw new AgentException.Configuration("HAProxy does not answer: " + e.getMessage(), e);
    }
  }

  /** A server as a worker has it. */
  record ServerLine(String name, String address, String port, boolean ready, String weight) {}

  private List<Long> processes(String type) throws IOException {
    return master
        .ask("show proc")
        .lines()
        .map(line -> line.strip().split("\\s+", -1))
        .filter(fields -> fields.length > 1 && fields[1].equals(type))
        .map(fields -> Long.parseLong(fields[0]))
        .toList();
  }

  /**
   * Ends it with all its connections; does nothing when it does not run. A master that has just
   * forked its worker executes itself again and may lose a signal, so it is repeated.
   */
  void stop() throws InterruptedException {
    Deadline deadline = Deadline.after(config.limit());
    while (terminate("master") || terminate("worker") || serving().isPresent()) {
      if (deadline.passed()) {
        throw new AgentException.Timeout("stopping HAProxy", config.limit());
      }
      pauses.pause(STEP);
    }
    // the next start needs the lock of the supervisor
    if (!AccessLog.unlocked(config.directory().resolve(LOCK), deadline.left())) {
      throw new AgentException.Timeout("stopping HAProxy", config.limit());
    }
    new AccessLog(config).awaitEnd(deadline.left());
  }

  /** Whether there was one. */
  private boolean terminate(String type) {
    try {
      List<Long> found = processes(type);
      for (long pid : found) {
        Optional<ProcessIdentity> process = ProcessIdentity.of(pid);
        if (process.isPresent()) {
          boolean _ = process.get().signal(Signal.TERM.number());
        }
      }
      return !found.isEmpty();
    } catch (IOException _) {
      return false; // nobody listens: it does not run
    }
  }
}
