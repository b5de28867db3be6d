package dev.zlayer.cluster.etcd;

import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A member of etcd, as a process of its own that outlives the agent: an agent that dies must not
 * cost the cluster its majority. A shell starts it again when it crashes; a lock keeps a second one
 * away.
 */
public final class EtcdServer {
  /** Room for the store; what is over it is refused. */
  private static final long QUOTA_BYTES = 2L << 30;

  private static final String LOG = "etcd.log";
  private static final String PID = "etcd.pid";
  private static final String LOCK = "lock";
  private static final String DATA = "data";
  private static final String RESTORING = "restoring";
  private static final String RESTORED = "restored";
  private static final String BEFORE = "before-restore";
  private static final long MOST_LOG = 8 << 20;
  private static final Duration STEP = Duration.ofMillis(20);
  private static final Duration TOOL_LIMIT = Duration.ofSeconds(10);

  /** It ends when etcd was asked to end (143), or cannot start (1), which the agent sees. */
  private static final String SUPERVISE =
      "pid=$1; shift; while :; do \"$@\" & echo $! >\"$pid\"; wait $!;"
          + " case $? in 0|1|2|143) exit;; *) sleep 1;; esac; done";

  private static final String START =
      "log=$1; shift; exec </dev/null >>\"$log\" 2>&1; exec setsid --fork \"$@\"";

  /**
   * A member.
   *
   * @param program etcd itself
   * @param directory where everything of it lies
   * @param name of the member
   * @param client where clients reach it
   * @param peer where other members reach it
   * @param tls files in PEM
   * @param cluster keeps members of other clusters away
   * @param members addresses of all members by name, this one included, as of its first start
   * @param joins whether the cluster exists already
   */
  public record Settings(
      Path program,
      Path directory,
      String name,
      URI client,
      URI peer,
      Tls tls,
      String cluster,
      Map<String, URI> members,
      boolean joins) {}

  /**
   * Files for TLS.
   *
   * @param revoked certificates that are refused, as DER; read at every connection
   * @param peers the name that certificates of other members must have
   */
  public record Tls(Path certificate, Path key, Path authority, Path revoked, String peers) {}

  private final Settings settings;
  private final Pauses pauses;

  public EtcdServer(Settings settings, Pauses pauses) {
    this.settings = settings;
    this.pauses = pauses;
  }

  /** Where Debian's package has it. */
  public static Path program() {
    return Path.of("/usr/bin/etcd");
  }

  /** Why it cannot run here. */
  public static Optional<String> obstacle(Path program) {
    return Files.isExecutable(program)
        ? Optional.empty()
        : Optional.of(
            "a node that stores the state of the cluster needs etcd, which is not installed;"
                + " install the package etcd-server");
  }

  /** Whether it or its supervisor runs. */
  public boolean running() throws InterruptedException {
    return !unlocked(Duration.ZERO);
  }

  /** Starts it unless it runs; returns before it answers. */
  public void start() throws InterruptedException {
    obstacle(settings.program())
        .ifPresent(
            reason -> {
              throw new AgentException.Configuration(reason);
            });
    Path directory = settings.directory();
    try {
      PrivateDirectory.directory(directory);
      restored();
      PrivateDirectory.directory(directory.resolve(DATA));
      trimLog();
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot use %s for etcd: %s".formatted(directory, e.getMessage()), e);
    }
    var arguments =
        new ArrayList<>(
            List.of(
                "/bin/sh",
                "-c",
                START,
                "sh",
                directory.resolve(LOG).toString(),
                "flock",
                "-n",
                "-o",
                directory.resolve(LOCK).toString(),
                "/bin/sh",
                "-c",
                SUPERVISE,
                "sh",
                directory.resolve(PID).toString()));
    arguments.addAll(arguments());
    CommandResult result = Processes.run(Command.of(arguments), Deadline.after(TOOL_LIMIT));
    if (!result.success()) {
      throw new AgentException.Configuration("cannot start etcd: " + result.lastLine());
    }
  }

  private List<String> arguments() {
    Tls tls = settings.tls();
    String members =
        settings.members().entrySet().stream()
            .map(member -> member.getKey() + "=" + member.getValue())
            .collect(Collectors.joining(","));
    return List.of(
        settings.program().toString(),
        "--name=" + settings.name(),
        "--data-dir=" + settings.directory().resolve(DATA),
        "--listen-client-urls=" + settings.client(),
        "--advertise-client-urls=" + settings.client(),
        "--listen-peer-urls=" + settings.peer(),
        "--initial-advertise-peer-urls=" + settings.peer(),
        "--initial-cluster=" + members,
        "--initial-cluster-token=" + settings.cluster(),
        "--initial-cluster-state=" + (settings.joins() ? "existing" : "new"),
        "--cert-file=" + tls.certificate(),
        "--key-file=" + tls.key(),
        "--trusted-ca-file=" + tls.authority(),
        "--client-cert-auth",
        "--client-crl-file=" + tls.revoked(),
        "--peer-cert-file=" + tls.certificate(),
        "--peer-key-file=" + tls.key(),
        "--peer-trusted-ca-file=" + tls.authority(),
        "--peer-client-cert-auth",
        "--peer-crl-file=" + tls.revoked(),
        "--peer-cert-allowed-hostname=" + tls.peers(),
        "--quota-backend-bytes=" + QUOTA_BYTES,
        "--bcrypt-cost=4", // passwords are random keys, which nobody can guess
        "--auto-compaction-mode=periodic",
        "--auto-compaction-retention=10m",
        "--logger=zap",
        "--log-level=warn");
  }

  /**
   * Makes the state from a snapshot, for a member that is alone and does not run; {@link #replace}
   * has it used.
   *
   * @param snapshot the state as this member has it when absent
   */
  public void restore(Optional<Path> snapshot, Deadline deadline) throws InterruptedException {
    Path directory = settings.directory();
    Path made = directory.resolve(RESTORING);
    Path source = snapshot.orElse(directory.resolve(DATA).resolve("member/snap/db"));
    try {
      RootedDirectory.removeTree(made);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot remove %s: %s".formatted(made, e.getMessage()), e);
    }
    var arguments =
        new ArrayList<>(
            List.of(
                "etcdctl",
                "snapshot",
                "restore",
                source.toString(),
                "--data-dir=" + made,
                "--name=" + settings.name(),
                "--initial-cluster=" + settings.name() + "=" + settings.peer(),
                "--initial-advertise-peer-urls=" + settings.peer(),
                "--initial-cluster-token=" + settings.cluster()));
    if (snapshot.isEmpty()) {
      arguments.add("--skip-hash-check"); // only snapshots end with one
    }
    CommandResult result =
        Processes.run(Command.of(arguments).withEnv(Map.of("ETCDCTL_API", "3")), deadline);
    if (!result.success()) {
      throw new AgentException.InvalidSpec(
          "etcdctl cannot restore from it: %s".formatted(result.lastLine()));
    }
  }

  /** The next start uses what {@link #restore} made. */
  public void replace() {
    Path directory = settings.directory();
    try {
      RootedDirectory.removeTree(directory.resolve(RESTORED));
      Files.move(
          directory.resolve(RESTORING),
          directory.resolve(RESTORED),
          StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot put the restored state into place: " + e.getMessage(), e);
    }
  }

  /** Uses what was restored, if anything; what was there before is kept beside it. */
  private void restored() throws IOException {
    Path restored = settings.directory().resolve(RESTORED);
    if (!Files.exists(restored)) {
      return;
    }
    Path data = settings.directory().resolve(DATA);
    Path before = settings.directory().resolve(BEFORE);
    if (Files.exists(data)) {
      RootedDirectory.removeTree(before);
      Files.move(data, before, StandardCopyOption.ATOMIC_MOVE);
    }
    Files.move(restored, data, StandardCopyOption.ATOMIC_MOVE);
  }

  /** Why it does not run, from the end of its log. */
  public Optional<String> lastError() {
    try (var lines = Files.lines(settings.directory().resolve(LOG))) {
      return lines
          .filter(line -> line.contains("\"fatal\"") || line.contains("\"error\""))
          .reduce((_, last) -> last);
    } catch (IOException | java.io.UncheckedIOException _) {
      return Optional.empty();
    }
  }

  /**
   * Ends it, and its supervisor with it. One that hangs is killed; what the supervisor starts in
   * its place then ends as it is asked to.
   */
  public void stop(Deadline deadline) throws InterruptedException {
    Deadline patience = Deadline.after(TOOL_LIMIT);
    while (!unlocked(Duration.ZERO)) {
      Optional<ProcessIdentity> process = process();
      Signal signal = patience.passed() ? Signal.KILL : Signal.TERM;
      if (patience.passed()) {
        patience = Deadline.after(TOOL_LIMIT);
      }
      try {
        if (process.isPresent()) {
          boolean _ = process.get().signal(signal.number());
        }
      } catch (IOException e) {
        throw new AgentException.Configuration("cannot stop etcd: " + e.getMessage(), e);
      }
      deadline.check("stopping etcd");
      pauses.pause(STEP);
    }
  }

  /**
   * Ends the connections of a machine, which are checked only when they are made. Where the kernel
   * cannot do that they last until the other side ends them.
   */
  public void disconnect(String address) throws InterruptedException {
    var _ =
        Processes.run(
            Command.of(
                "ss",
                "--kill",
                "--tcp",
                "dst %s and ( sport = :%d or sport = :%d )"
                    .formatted(address, settings.client().getPort(), settings.peer().getPort())),
            Deadline.after(TOOL_LIMIT));
  }

  /** The process of the member; the supervisor writes its number before anything else. */
  public Optional<ProcessIdentity> process() {
    try {
      String text = Files.readString(settings.directory().resolve(PID)).strip();
      return text.isEmpty() ? Optional.empty() : ProcessIdentity.of(Long.parseLong(text));
    } catch (IOException | NumberFormatException _) {
      return Optional.empty();
    }
  }

  private boolean unlocked(Duration limit) throws InterruptedException {
    Path lock = settings.directory().resolve(LOCK);
    return !Files.exists(lock)
        || Processes.run(
                Command.of(
                    "flock",
                    "-w",
                    Double.toString(limit.toMillis() / 1000.0),
                    lock.toString(),
                    "true"),
                Deadline.after(TOOL_LIMIT))
            .success();
  }

  /** Empties a log that has grown long; etcd appends to it, also while it runs. */
  public void trimLog() throws IOException {
    Path log = settings.directory().resolve(LOG);
    if (Files.exists(log) && Files.size(log) > MOST_LOG) {
      try (var channel = Files.newByteChannel(log, StandardOpenOption.WRITE)) {
        var _ = channel.truncate(0);
      }
    }
  }
}
