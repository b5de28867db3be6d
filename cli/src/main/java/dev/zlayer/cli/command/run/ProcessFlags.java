package dev.zlayer.cli.command.run;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.command.container.Variables;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What runs, as whom, with which variables, and how it is ended. */
final class ProcessFlags {
  @Option(
      names = {"-e", "--env"},
      paramLabel = "NAME=VALUE",
      description = "Set an environment variable; NAME alone passes the current value")
  List<String> env = List.of();

  @Option(
      names = "--env-file",
      paramLabel = "FILE",
      description = "Read environment variables from a file, one NAME=VALUE per line")
  List<String> envFiles = List.of();

  @Option(
      names = {"-l", "--label"},
      paramLabel = "NAME=VALUE",
      description = "Set a label")
  List<String> labels = List.of();

  @Option(
      names = "--label-file",
      paramLabel = "FILE",
      description = "Read labels from a file, one NAME=VALUE per line")
  List<String> labelFiles = List.of();

  @Option(
      names = "--entrypoint",
      paramLabel = "PROGRAM",
      description = "Override the image's entrypoint")
  @Nullable String entrypoint;

  @Option(
      names = {"-w", "--workdir"},
      paramLabel = "PATH",
      description = "Working directory inside the container")
  @Nullable String workdir;

  @Option(
      names = {"-u", "--user"},
      paramLabel = "USER[:GROUP]",
      description = "User name or uid, optionally with :group")
  @Nullable String user;

  @Option(names = "--group-add", paramLabel = "GROUP", description = "Add a supplementary group")
  List<String> groups = List.of();

  @Option(
      names = "--init",
      description = "Run an init process that forwards signals and reaps processes")
  boolean init;

  @Option(
      names = "--stop-signal",
      paramLabel = "SIGNAL",
      description = "Signal to stop the container (default: the image's)")
  @Nullable String stopSignal;

  @Option(
      names = "--stop-timeout",
      paramLabel = "SECONDS",
      description = "Time to wait before the container is killed")
  @Nullable Integer stopTimeout;

  @Option(
      names = "--restart",
      paramLabel = "POLICY",
      description = "Restart policy: no, always, unless-stopped or on-failure[:MAX]")
  @Nullable String restart;

  void into(Json.Builder body, Session session, List<String> arguments) {
    var command = Json.object();
    command.putIf("entrypoint", Optional.ofNullable(entrypoint).map(List::of));
    if (!arguments.isEmpty()) {
      command.put("args", arguments);
    }
    command.putIf("workdir", Optional.ofNullable(workdir));
    body.put("command", command.build());
    body.put("env", variables(session, envFiles, env));
    Map<String, String> named = labels(session);
    if (!named.isEmpty()) {
      body.put("labels", named);
    }
    body.putIf("user", Optional.ofNullable(user));
    if (!groups.isEmpty()) {
      body.put("extra_groups", groups);
    }
    body.put("init_container", init);
    body.putIf("stop_signal", Optional.ofNullable(stopSignal));
    body.putIf("stop_grace_period", Optional.ofNullable(stopTimeout).map(time -> time + "s"));
    body.putIf("restart_policy", Optional.ofNullable(restart).map(ProcessFlags::policy));
  }

  /** A restart policy as the daemon reads it. */
  static Json policy(String text) {
    String[] parts = text.split(":", 2);
    String kind =
        switch (parts[0]) {
          case "no" -> "no";
          case "always" -> "always";
          case "unless-stopped" -> "unless_stopped";
          case "on-failure" -> "on_failure";
          default ->
              throw new AgentException.InvalidSpec(
                  "--restart '%s' is not one of no, always, unless-stopped, on-failure[:MAX]"
                      .formatted(text));
        };
    var policy = Json.object().put("kind", kind);
    if (parts.length == 2) {
      if (!parts[0].equals("on-failure") || !parts[1].matches("[0-9]{1,6}")) {
        throw new AgentException.InvalidSpec(
            "--restart '%s': only on-failure takes a number".formatted(text));
      }
      policy.put("max_attempts", Integer.parseInt(parts[1]));
    }
    return policy.build();
  }

  private static Map<String, String> variables(
      Session session, List<String> files, List<String> pairs) {
    var all = new ArrayList<String>();
    files.forEach(file -> all.addAll(lines(session, file)));
    all.addAll(pairs);
    return Variables.parse(session, all);
  }

  private Map<String, String> labels(Session session) {
    var all = new ArrayList<String>();
    labelFiles.forEach(file -> all.addAll(lines(session, file)));
    all.addAll(labels);
    var named = new LinkedHashMap<String, String>();
    for (String label : all) {
      String[] parts = label.split("=", 2);
      named.put(parts[0], parts.length == 2 ? parts[1] : "");
    }
    return named;
  }

  private static List<String> lines(Session session, String file) {
    try {
      return Files.readAllLines(session.resolve(file)).stream()
          .map(String::stripLeading)
          .filter(line -> !line.isBlank() && !line.startsWith("#"))
          .toList();
    } catch (NoSuchFileException _) {
      throw new AgentException.NotFound("file '" + file + "'", "there is no such file");
    } catch (IOException e) {
      throw new AgentException.InvalidSpec(
          "file '%s' cannot be read: %s".formatted(file, e.getMessage()), e);
    }
  }
}
