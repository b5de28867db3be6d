package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.config.ConfigReader;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.spec.bind.Shape;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "install",
    description = "Write systemd units that start the daemon at boot",
    footer = {
      "",
      "Containers keep running when the unit is restarted: only the daemon process is stopped,",
      "and the control groups below it are delegated to it. The socket is a unit of its own:",
      "clients that come meanwhile wait. Settings in the environment (ZLAYER_DATA_DIR ...)",
      "become part of the unit; write full paths."
    })
public final class DaemonInstallCommand implements Callable<Integer> {
  /**
   * What the agent, its helpers and its containers may have. Left out is what loads kernel modules,
   * restarts the host, sets its clock, reaches its ports and memory or its audit system.
   */
  static final String CAPABILITIES =
      """
      CAP_AUDIT_WRITE CAP_BPF CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID \
      CAP_IPC_LOCK CAP_IPC_OWNER CAP_KILL CAP_LEASE CAP_LINUX_IMMUTABLE CAP_MAC_ADMIN CAP_MKNOD \
      CAP_NET_ADMIN CAP_NET_BIND_SERVICE CAP_NET_BROADCAST CAP_NET_RAW CAP_PERFMON CAP_SETFCAP \
      CAP_SETGID CAP_SETPCAP CAP_SETUID CAP_SYSLOG CAP_SYS_ADMIN CAP_SYS_CHROOT CAP_SYS_NICE \
      CAP_SYS_PTRACE CAP_SYS_RESOURCE CAP_SYS_TTY_CONFIG\
      """;

  private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_./:+,=@-]+");
  private static final String DOCKER_SOCKET = "/var/run/docker.sock";

  private final Session session;

  @Option(
      names = "--unit-dir",
      paramLabel = "DIR",
      description =
          "Directory of systemd units (default: /etc/systemd/system, or ~/.config/systemd/user"
              + " without root)")
  private @Nullable String unitDirectory;

  @Option(names = "--config", paramLabel = "FILE", description = "Configuration file to use")
  private @Nullable String config;

  @Option(
      names = "--stop-timeout",
      paramLabel = "DURATION",
      description = "Time the daemon may take to stop (default: 90s)")
  private String stopTimeout = "90s";

  @Option(
      names = "--all-capabilities",
      description =
          "Leave the agent and its containers the capabilities that concern the host as a whole,"
              + " e.g. SYS_MODULE and SYS_TIME")
  private boolean allCapabilities;

  @Option(
      names = "--docker",
      description =
          "Link /var/run/docker.sock to the socket for clients of Docker, unless something else is"
              + " there")
  private boolean docker;

  @Option(names = "--print", description = "Print the units and change nothing")
  private boolean print;

  public DaemonInstallCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    if (print) {
      session.out().print(service() + "\n# zlayer.socket\n" + socketUnit());
      return 0;
    }
    write("zlayer.service", service());
    write("zlayer.socket", socketUnit());
    if (!settings().isEmpty()) {
      session
          .err()
          .println(
              "with the settings of this environment: " + String.join(", ", settings().keySet()));
    }
    session
        .err()
        .println(
            Machine.root()
                ? "next: systemctl daemon-reload && systemctl enable --now zlayer.socket zlayer"
                : "next: loginctl enable-linger && systemctl --user daemon-reload &&"
                    + " systemctl --user enable --now zlayer.socket zlayer");
    return 0;
  }

  private void write(String name, String unit) {
    Path file = directory().resolve(name);
    try {
      Files.createDirectories(directory());
      Files.writeString(file, unit);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot write %s: %s; run as root, or choose another directory with --unit-dir"
              .formatted(file, e.getMessage()),
          e);
    }
    session.err().println("wrote " + file);
  }

  private Path directory() {
    if (unitDirectory != null) {
      return session.resolve(unitDirectory);
    }
    return Machine.root()
        ? Path.of("/etc/systemd/system")
        : session.resolve(session.variable("HOME").orElse("")).resolve(".config/systemd/user");
  }

  /** The settings of this environment, since systemd starts the daemon without it. */
  private Map<String, String> settings() {
    var settings = new TreeMap<String, String>();
    for (Shape.Field field : ConfigReader.fields()) {
      String variable = ConfigReader.variable(field.name());
      session.variable(variable).ifPresent(value -> settings.put(variable, value));
    }
    return settings;
  }

  private String environment() {
    var variables = new TreeMap<>(settings());
    // the launcher looks for a Java where it has none of its own; this one is known to work
    Path java = Path.of(System.getProperty("java.home", ""));
    if (!java.startsWith(Path.of(System.getProperty("zlayer.home", "none")))) {
      variables.put("JAVA_HOME", java.toString());
    }
    return variables.entrySet().stream()
        .map(entry -> "Environment=" + quoted(entry.getKey() + "=" + entry.getValue()) + "\n")
        .collect(Collectors.joining());
  }

  /** As systemd reads one word, which may have blanks. */
  private static String quoted(String text) {
    return '"'
        + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n").replace("%", "%%")
        + '"';
  }

  /** A word of a command, where variables are filled in, too. */
  private static String word(String text) {
    return PLAIN.matcher(text).matches() ? text : quoted(text.replace("$", "$$"));
  }

  /** At each start, since a reboot takes the link; a socket of another engine stays as it is. */
  private String link() {
    Path socket =
        config()
            .dockerSocketPath()
            .orElseThrow(
                () ->
                    new AgentException.Configuration(
                        "docker_socket is off: switch it on, or leave out --docker"));
    return "ExecStartPost=/bin/sh -c 'test -e %1$s -a ! -L %1$s || ln -sfn \"$$0\" %1$s' %2$s%n"
        .formatted(DOCKER_SOCKET, word(socket.toString()));
  }

  private AgentConfig config() {
    return Configurations.read(session, Optional.ofNullable(config), Map.of()).config();
  }

  /** For root alone until the daemon has given it to the group of its configuration. */
  private String socketUnit() {
    return """
    [Unit]
    Description=socket of the zlayer container agent

    [Socket]
    ListenStream=%s
    SocketMode=0600
    DirectoryMode=0755
    RemoveOnStop=yes

    [Install]
    WantedBy=sockets.target
    """
        .formatted(config().socketPath().toAbsolutePath().toString().replace("%", "%%"));
  }

  private String service() {
    return Machine.root() ? unit() : forUser(unit());
  }

  private String unit() {
    String options = config == null ? "" : " --config " + word(session.resolve(config).toString());
    return """
    [Unit]
    Description=zlayer container agent
    After=network-online.target local-fs.target
    Wants=network-online.target

    [Service]
    Type=notify
    NotifyAccess=main
    Sockets=zlayer.socket
    %sExecStart=%s serve%s
    %sRestart=always
    RestartSec=1s
    # an agent that does not answer any more is started again
    WatchdogSec=60s
    # containers belong to their own monitors and outlive the daemon
    KillMode=process
    Delegate=yes
    OOMPolicy=continue
    TimeoutStartSec=10min
    TimeoutStopSec=%ds
    LimitNOFILE=1048576
    LimitNPROC=infinity
    TasksMax=infinity
    OOMScoreAdjust=-500
    # containers inherit every filter of system calls and every mount namespace: docs/operations.md
    %sKeyringMode=private
    UMask=0022

    [Install]
    WantedBy=multi-user.target
    """
        .formatted(
            environment(),
            Launch.words().stream()
                .map(DaemonInstallCommand::word)
                .collect(Collectors.joining(" ")),
            options,
            docker ? link() : "",
            Durations.parse(stopTimeout).toSeconds(),
            allCapabilities ? "" : "CapabilityBoundingSet=" + CAPABILITIES + "\n");
  }

  /** An ordinary user has no rights to give up, and their manager starts with their first login. */
  private static String forUser(String unit) {
    return unit.lines()
            .filter(
                line ->
                    !line.matches(
                        "(After|Wants|OOMScoreAdjust|CapabilityBoundingSet|LimitN\\w+)=.*"))
            .map(line -> line.replace("multi-user.target", "default.target"))
            .collect(Collectors.joining("\n"))
        + "\n";
  }
}
