package dev.zlayer.host.process;

import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.linux.AppArmor;
import dev.zlayer.host.linux.CgroupSupport;
import dev.zlayer.host.linux.Exec;
import dev.zlayer.host.linux.Links;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.linux.Self;
import dev.zlayer.host.linux.UserManager;
import dev.zlayer.host.linux.UserNamespaces;
import dev.zlayer.host.net.OutsidePorts;
import dev.zlayer.host.probe.HostProbe;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * Where the agent of an ordinary user runs: a user namespace in which that user is root and has the
 * numbers of /etc/subuid for others, with mounts and a network of its own. A process that does
 * nothing holds them, so they outlive the agent as its containers do; pasta connects the network
 * with that of the host, and is started again when it ends. Where systemd has control groups for
 * the user, those of containers are in a scope beside the agent's unit, which can be started again
 * only while no group below its own has controllers.
 */
public final class RootlessHost {
  /** Names this user, who is root inside; only the agent of an ordinary user has it. */
  public static final String USER = "ZLAYER_LOGIN_NAME";

  /** The control group that was given to this user; missing where there is none. */
  public static final String GROUP = "ZLAYER_GROUP";

  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final Duration STEP = Duration.ofMillis(20);
  private static final Path TUN = Path.of("/dev/net/tun");
  private static final String SYSTEM_PROGRAMS = "/usr/local/sbin:/usr/sbin:/sbin";

  /** Programs, and the Debian package each comes with. */
  private static final Map<String, String> PROGRAMS =
      new TreeMap<>(
          Map.of(
              "newuidmap", "uidmap",
              "newgidmap", "uidmap",
              "unshare", "util-linux",
              "nsenter", "util-linux",
              "setsid", "util-linux",
              "pasta", "passt"));

  /** Says that it is inside, then keeps the namespaces, and none of the streams it was given. */
  private static final String HOLD = "echo && exec sleep infinity </dev/null >/dev/null 2>&1";

  /**
   * Stays outside, where the agent cannot return to, and keeps pasta running as long as somebody
   * holds the namespaces. A host without a route gets its connection when it has one. The kernel
   * takes the name of the AppArmor profile where it has that one.
   */
  private static final String CONNECT =
      """
      record=$1 pid=$2 log=$3 profile=$4 missing=0 pause=1
      shift 4
      while [ "$missing" -lt 30 ]; do
        if read -r holder rest <"$record" && kill -0 "$holder"; then
          missing=0
          began=$(date +%s)
          (
            { echo "exec $profile" >/proc/self/attr/apparmor/exec; } 2>/dev/null
            exec "$@" "$holder"
          ) >"$log" 2>&1 &
          echo "$! $(cut -d' ' -f22 "/proc/$!/stat")" >"$pid.new" && mv "$pid.new" "$pid"
          wait "$!"
          mv "$pid" "$pid.ended"
          if [ $(($(date +%s) - began)) -gt 10 ]; then pause=1; fi
        else
          missing=$((missing + 1))
          pause=1
        fi
        sleep "$pause"
        if [ "$pause" -lt 30 ]; then pause=$((pause * 2)); fi
      done
      """;

  private static final String PASTA = "pasta.pid";
  private static final String SYSTEMD_RUN = "systemd-run";
  private static final String RUNTIME_DIR = "XDG_RUNTIME_DIR";

  private final Path directory;
  private final HostProbe probe;
  private final String searchPath;
  private final String user;

  /**
   * @param directory where the process that holds the namespaces is recorded; of this boot only
   * @param searchPath as in the environment variable {@code PATH}
   * @param user the name of this user
   */
  public RootlessHost(Path directory, String searchPath, String user) {
    this.directory = directory;
    this.user = user;
    this.searchPath = searchPath + ":" + SYSTEM_PROGRAMS;
    this.probe = new HostProbe(this.searchPath, List.of());
  }

  /** What is missing for this user, each with a remedy; empty when containers can run. */
  public List<String> missing() {
    var missing = new ArrayList<String>();
    PROGRAMS.forEach(
        (program, debian) -> {
          if (probe.find(program).isEmpty()) {
            missing.add("%s is not installed: apt-get install %s".formatted(program, debian));
          }
        });
    for (String file : List.of("/etc/subuid", "/etc/subgid")) {
      if (!hasRange(file, user)) {
        missing.add(
            "%s has no range for %s: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s"
                .formatted(file, user, user));
      }
    }
    if (!Files.isReadable(TUN) || !Files.isWritable(TUN)) {
      missing.add("%s cannot be opened by %s: chmod 666 %s".formatted(TUN, user, TUN));
    }
    if (Self.setting("kernel/unprivileged_userns_clone").filter("0"::equals).isPresent()) {
      missing.add("user namespaces are off: sysctl -w kernel.unprivileged_userns_clone=1");
    }
    if (Self.setting("user/max_user_namespaces").filter("0"::equals).isPresent()) {
      missing.add("user namespaces are off: sysctl -w user.max_user_namespaces=10000");
    }
    return missing;
  }

  /**
   * Goes on inside, as the same process with the same command line: returns only by an exception.
   *
   * @param environment of the program inside
   * @param warnings is told what does not work there, and why
   */
  public void enter(Map<String, String> environment, Consumer<String> warnings)
      throws InterruptedException {
    try {
      UserManager manager = UserManager.read(user);
      String group = CgroupSupport.own();
      boolean gives = manager.gives(group) && probe.find(SYSTEMD_RUN).isPresent();
      if (gives && !manager.owns(group)) {
        throw moveTo(manager, environment);
      }
      Optional<String> scope = gives ? Optional.of(manager.scope(scopeName())) : Optional.empty();
      long holder = holder(scope, manager, warnings);
      var arguments =
          new ArrayList<>(
              List.of(
                  "nsenter",
                  "--preserve-credentials",
                  "--user",
                  "--mount",
                  "--net",
                  "--target=" + holder,
                  "--wd=" + Path.of("").toAbsolutePath(),
                  "--"));
      arguments.add(Self.program().toString());
      arguments.addAll(Self.arguments());
      var inside = new TreeMap<>(environment);
      inside.put("PATH", searchPath);
      inside.put(USER, user);
      scope.filter(CgroupSupport::exists).ifPresent(given -> inside.put(GROUP, given));
      inside.put(
          OutsidePorts.CONNECTED_BY, connection().map(ProcessIdentity::pid).orElse(0L).toString());
      // inside, the same setting is that of another network
      Self.setting(OutsidePorts.SETTING)
          .ifPresent(first -> inside.put(OutsidePorts.FIRST_PORT, first));
      throw replace(program("nsenter"), arguments, inside);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "namespaces for containers without root cannot be entered: " + e.getMessage(), e);
    }
  }

  /**
   * Goes on in a group of the user's manager, from where processes can be moved to others of it.
   * The same command line then comes back to {@link #enter}.
   */
  private IOException moveTo(UserManager manager, Map<String, String> environment)
      throws IOException {
    var arguments = new ArrayList<>(List.of(SYSTEMD_RUN, "--user", "--scope", "--quiet"));
    arguments.addAll(List.of("--collect", "--description=zlayer container agent", "--"));
    arguments.add(Self.program().toString());
    arguments.addAll(Self.arguments());
    var there = new TreeMap<>(environment);
    there.put(RUNTIME_DIR, manager.directory().toString());
    return replace(program(SYSTEMD_RUN), arguments, there);
  }

  private static IOException replace(
      Path program, List<String> arguments, Map<String, String> environment) {
    return Exec.replace(
        program,
        arguments,
        environment.entrySet().stream()
            .map(entry -> entry.getKey() + "=" + entry.getValue())
            .toList());
  }

  /** The same for every agent on these directories: containers are found by it. */
  private String scopeName() {
    return "zlayer-%08x.scope".formatted(directory.toAbsolutePath().toString().hashCode());
  }

  /** Whether there are namespaces that an agent of this user was in. */
  public boolean present() throws IOException {
    return inside().isPresent();
  }

  /** Lets another process hold the namespaces if the one that did was killed; called inside. */
  public void restore() throws IOException {
    if (recorded(record()).filter(ProcessIdentity::alive).isEmpty()) {
      write(start(List.of("sh", "-c", HOLD)));
    }
  }

  /** Ends the processes that hold and connect the namespaces, once nothing runs there any more. */
  public void end() throws IOException {
    OutsidePorts.end(directory, namespaces(words(record())));
    // the one that would start pasta again comes first
    for (Path record : List.of(connectionRecord(), directory.resolve(PASTA), record())) {
      Optional<ProcessIdentity> process = recorded(record);
      if (process.isPresent()) {
        boolean _ = process.get().signal(Signal.KILL.number());
      }
    }
  }

  /** A process in the namespaces of this user's agent, which are made if there are none. */
  private long holder(Optional<String> scope, UserManager manager, Consumer<String> warnings)
      throws IOException, InterruptedException {
    Files.createDirectories(directory);
    try (var lock =
            FileChannel.open(
                directory.resolve("rootless.lock"),
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE);
        var _ = lock.lock()) {
      Optional<Long> present = inside();
      if (present.isPresent()) {
        if (connection().isEmpty() || scope.filter(CgroupSupport::missing).isPresent()) {
          connect(present.get(), scope, manager, warnings);
        }
        return present.get();
      }
      ProcessIdentity made = make();
      write(made);
      connect(made.pid(), scope, manager, warnings);
      return made.pid();
    }
  }

  /** The recorded process or, if only that was killed, a container's monitor or the like. */
  private Optional<Long> inside() throws IOException {
    List<String> words = words(record());
    Optional<ProcessIdentity> holder = identity(words);
    if (holder.isEmpty() || holder.get().alive()) {
      return holder.map(ProcessIdentity::pid);
    }
    return UserNamespaces.processIn(namespaces(words));
  }

  /** As they are recorded with the process that holds them. */
  private static List<String> namespaces(List<String> words) {
    return words.subList(Math.min(2, words.size()), words.size());
  }

  private void write(ProcessIdentity holder) throws IOException {
    List<String> namespaces = UserNamespaces.of(holder.pid());
    if (namespaces.isEmpty()) {
      throw new IOException("the process that holds them has ended");
    }
    record(record(), holder, String.join(" ", namespaces));
  }

  private ProcessIdentity make() throws IOException {
    return start(
        List.of(
            program("unshare").toString(),
            "--user",
            "--map-auto",
            "--map-root-user",
            "--mount",
            "--net",
            "--propagation=slave",
            "sh",
            "-c",
            HOLD));
  }

  private ProcessIdentity start(List<String> holder) throws IOException {
    var words = new ArrayList<>(List.of(program("setsid").toString()));
    words.addAll(holder);
    Process process = Processes.start(Command.of(words));
    if (process.getInputStream().read() < 0) {
      throw new IOException(
          new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8).strip());
    }
    return ProcessIdentity.of(process.pid())
        .orElseThrow(() -> new IOException("the process that holds them has ended"));
  }

  /**
   * Ports that are bound inside are bound outside within a second, and the other way round:
   * versions of pasta do neither when they are told to do only the first.
   *
   * @param scope is held by what connects the network; made if there is none
   */
  private void connect(
      long holder, Optional<String> scope, UserManager manager, Consumer<String> warnings)
      throws IOException, InterruptedException {
    Path pasta = directory.resolve(PASTA);
    Path ended = directory.resolve(PASTA + ".ended");
    Path log = directory.resolve("pasta.log");
    Path network = directory.resolve("network.log");
    // one of them may have been killed, or be in no scope
    for (Path former : List.of(connectionRecord(), pasta)) {
      Optional<ProcessIdentity> process = recorded(former);
      if (process.isPresent()) {
        boolean _ = process.get().signal(Signal.KILL.number());
      }
    }
    Files.deleteIfExists(ended);
    var words = new ArrayList<>(List.of(program("setsid").toString()));
    boolean scoped = scope.filter(CgroupSupport::missing).isPresent();
    if (scoped) {
      words.addAll(List.of(program(SYSTEMD_RUN).toString(), "--user", "--scope", "--quiet"));
      words.addAll(List.of("--collect", "--slice=app.slice", "--unit=" + scopeName()));
      words.addAll(List.of("--property=Delegate=yes", "--description=containers of zlayer", "--"));
    }
    // it writes no files itself: AppArmor profiles for it allow few
    words.addAll(List.of("sh", "-c", CONNECT, "zlayer-network", record().toString()));
    words.addAll(List.of(pasta.toString(), log.toString(), AppArmor.PASTA_PROFILE));
    words.addAll(List.of(program("pasta").toString(), "--foreground", "--quiet"));
    words.addAll(List.of("--config-net", "--no-map-gw", "--tcp-ports=auto", "--udp-ports=auto"));
    words.addAll(List.of("--tcp-ns=auto", "--udp-ns=auto"));
    Process connection =
        Processes.start(
            Command.of(words).withEnv(Map.of(RUNTIME_DIR, manager.directory().toString())),
            network.toFile());
    ProcessIdentity started =
        ProcessIdentity.of(connection.pid())
            .orElseThrow(() -> new IOException("the process that connects them has ended"));
    record(connectionRecord(), started, "");
    if (scope.isPresent() && !scoped) {
      CgroupSupport.join(scope.get(), started.pid());
    }
    Deadline deadline = Deadline.after(LIMIT);
    while (!Links.connected(holder)) {
      if (scoped && !connection.isAlive()) {
        warnings.accept(
            "limits of containers are refused: systemd gives no control group: " + last(network));
        connect(holder, Optional.empty(), manager, warnings);
        return;
      }
      if (Files.exists(ended) || deadline.passed()) {
        warnings.accept(
            "containers have no connection to the host, and publish no ports, until pasta can"
                + " start: "
                + (Files.exists(log) ? Files.readString(log).strip().replace('\n', ' ') : "")
                + AppArmor.pastaObstacle().map("; "::concat).orElse(""));
        return;
      }
      Pauses.REAL.pause(STEP);
    }
  }

  private static String last(Path log) throws IOException {
    return Files.readAllLines(log).stream().reduce("", (_, line) -> line);
  }

  /** The process that keeps pasta running, while it does. */
  private Optional<ProcessIdentity> connection() throws IOException {
    return recorded(connectionRecord()).filter(ProcessIdentity::alive);
  }

  private Path connectionRecord() {
    return directory.resolve("rootless.network");
  }

  private Path record() {
    return directory.resolve("rootless.holder");
  }

  private static void record(Path file, ProcessIdentity process, String more) throws IOException {
    AtomicFile.write(
        file,
        "%d %d %s\n"
            .formatted(process.pid(), process.startTicks(), more)
            .getBytes(StandardCharsets.UTF_8));
  }

  private static Optional<ProcessIdentity> recorded(Path file) throws IOException {
    return identity(words(file));
  }

  private static List<String> words(Path file) throws IOException {
    try {
      return List.of(Files.readString(file).strip().split(" ", -1));
    } catch (NoSuchFileException _) {
      return List.of();
    }
  }

  private static Optional<ProcessIdentity> identity(List<String> words) {
    try {
      return words.size() < 2
          ? Optional.empty()
          : Optional.of(
              new ProcessIdentity(Long.parseLong(words.get(0)), Long.parseLong(words.get(1))));
    } catch (NumberFormatException _) {
      return Optional.empty();
    }
  }

  private Path program(String name) {
    return probe
        .find(name)
        .orElseThrow(() -> new AgentException.Configuration(name + " is not installed"));
  }

  /** Whether a file such as /etc/subuid gives numbers to a user. */
  private static boolean hasRange(String file, String user) {
    try {
      return Files.readAllLines(Path.of(file)).stream()
          .anyMatch(line -> line.startsWith(user + ":"));
    } catch (IOException _) {
      return false;
    }
  }
}
