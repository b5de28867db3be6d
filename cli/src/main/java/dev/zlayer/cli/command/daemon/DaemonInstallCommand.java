package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.daemon.config.ConfigReader;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.spec.bind.Shape;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "install",
    description = "Write a systemd unit that starts the daemon at boot",
    footer = {
      "",
      "Containers keep running when the unit is restarted: only the daemon process is stopped,",
      "and the control groups below it are delegated to it. Settings in the environment",
      "(ZLAYER_DATA_DIR ...) become part of the unit; write full paths."
    })
public final class DaemonInstallCommand implements Callable<Integer> {
  private final Session session;

  @Option(
      names = "--unit-dir",
      paramLabel = "DIR",
      description = "Directory of systemd units (default: /etc/systemd/system)")
  private String unitDirectory = "/etc/systemd/system";

  @Option(names = "--config", paramLabel = "FILE", description = "Configuration file to use")
  private @Nullable String config;

  @Option(
      names = "--stop-timeout",
      paramLabel = "DURATION",
      description = "Time the daemon may take to stop (default: 90s)")
  private String stopTimeout = "90s";

  @Option(names = "--print", description = "Print the unit and change nothing")
  private boolean print;

  public DaemonInstallCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    String unit = unit();
    if (print) {
      session.out().print(unit);
      return 0;
    }
    Path file = session.resolve(unitDirectory).resolve("zlayer.service");
    try {
      Files.writeString(file, unit);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot write %s: %s; run as root, or choose another directory with --unit-dir"
              .formatted(file, e.getMessage()),
          e);
    }
    session.err().println("wrote " + file);
    if (!settings().isEmpty()) {
      session
          .err()
          .println(
              "with the settings of this environment: " + String.join(", ", settings().keySet()));
    }
    session.err().println("next: systemctl daemon-reload && systemctl enable --now zlayer");
    return 0;
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
    return settings().entrySet().stream()
        .map(
            entry ->
                "Environment=\"%s=%s\"%n"
                    .formatted(
                        entry.getKey(),
                        entry
                            .getValue()
                            .replace("\\", "\\\\")
                            .replace("\"", "\\\"")
                            .replace("%", "%%")))
        .collect(Collectors.joining());
  }

  private String unit() {
    String options = config == null ? "" : " --config " + session.resolve(config);
    return """
    [Unit]
    Description=zlayer container agent
    After=network-online.target local-fs.target
    Wants=network-online.target

    [Service]
    Type=notify
    NotifyAccess=all
    %sExecStart=%s serve%s
    Restart=always
    RestartSec=1s
    # an agent that does not answer any more is started again
    WatchdogSec=60s
    # containers belong to their own monitors and outlive the daemon
    KillMode=process
    Delegate=yes
    TimeoutStopSec=%ds
    LimitNOFILE=1048576
    LimitNPROC=infinity
    TasksMax=infinity
    OOMScoreAdjust=-500

    [Install]
    WantedBy=multi-user.target
    """
        .formatted(
            environment(),
            String.join(" ", Launch.words()),
            options,
            Durations.parse(stopTimeout).toSeconds());
  }
}
