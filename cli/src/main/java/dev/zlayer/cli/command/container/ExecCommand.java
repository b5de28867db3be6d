package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.JsonLines;
import dev.zlayer.cli.client.Output;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.terminal.Terminal;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "exec",
    description = "Run a command in a running container",
    footer = {
      "",
      "Examples:",
      "  zlayer exec shop/db/1 pg_dump shop > shop.sql",
      "  zlayer exec -it shop/api/1 sh        with a terminal",
      "",
      "Exits with the command's exit code."
    })
public final class ExecCommand extends ClientCommand {
  @Option(
      names = {"-i", "--interactive"},
      description = "Keep standard input open")
  boolean interactive;

  @Option(
      names = {"-t", "--tty"},
      description = "Allocate a terminal")
  boolean tty;

  @Option(
      names = {"-e", "--env"},
      paramLabel = "NAME=VALUE",
      description = "Set an environment variable; NAME alone passes the current value")
  List<String> env = List.of();

  @Option(
      names = {"-u", "--user"},
      paramLabel = "USER",
      description = "User name or uid, optionally with :group")
  @Nullable String user;

  @Option(
      names = {"-w", "--workdir"},
      paramLabel = "PATH",
      description = "Working directory inside the container")
  @Nullable String workdir;

  @Option(names = "--privileged", description = "Grant all capabilities")
  boolean privileged;

  @Parameters(
      index = "0",
      paramLabel = "CONTAINER",
      description = "Container as deployment/service[/replica], name or id")
  String container = "";

  @Parameters(
      index = "1..*",
      paramLabel = "COMMAND",
      arity = "1..*",
      description = "Command and arguments")
  List<String> command = List.of();

  public ExecCommand(Session session) {
    super(session);
  }

  @Override
  protected boolean streams() {
    return true;
  }

  @Override
  protected boolean startsProcess() {
    return true;
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Target target = Target.parse(container);
    Map<String, String> variables = Variables.parse(session, env);
    if (tty && !session.keyboard()) {
      throw new AgentException.InvalidSpec("standard input is not a terminal; omit -t");
    }
    return interactive || tty
        ? interact(client, target, variables)
        : stream(client, target, variables);
  }

  private int interact(DaemonClient client, Target target, Map<String, String> variables)
      throws InterruptedException {
    Query query =
        Query.NONE
            .all("command", command)
            .all(
                "env",
                variables.entrySet().stream()
                    .map(entry -> entry.getKey() + "=" + entry.getValue())
                    .toList())
            .and("tty", tty)
            .and("stdin", true)
            .andIf("user", Optional.ofNullable(user))
            .andIf("working_directory", Optional.ofNullable(workdir))
            .flag("privileged", privileged);
    var size = tty ? session.screen().size() : Optional.<Terminal.Size>empty();
    query =
        query
            .andIf("rows", size.map(Terminal.Size::rows))
            .andIf("columns", size.map(Terminal.Size::columns));
    var channel = client.connect(target.path() + "/exec/ws", query);
    Interaction.End end = new Interaction(session, channel, tty, false).run(true);
    return end.code().orElse(Blame.OUTSIDE.exitCode());
  }

  private int stream(DaemonClient client, Target target, Map<String, String> variables)
      throws InterruptedException {
    Json body =
        Json.object()
            .put("command", command)
            .put("env", variables)
            .putIf("working_directory", Optional.ofNullable(workdir))
            .putIf("user", Optional.ofNullable(user))
            .put("privileged", privileged)
            .build();
    try (JsonLines lines =
        client.stream(
            "POST", target.path() + "/exec", Query.NONE, DaemonClient.JSON, JsonText.bytes(body))) {
      for (Optional<Json> json = lines.next(); json.isPresent(); json = lines.next()) {
        if (json.get().at("type").string().filter("exit"::equals).isPresent()) {
          return json.get().at("code").integer().orElse(1L).intValue();
        }
        Output piece = Output.of(json.get());
        PrintStream out = piece.stderr() ? session.err() : session.out();
        out.write(piece.bytes(), 0, piece.bytes().length);
        out.flush();
      }
    }
    throw new AgentException.Network("the daemon did not report the command's exit code");
  }
}
