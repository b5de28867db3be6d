package dev.zlayer.cli.command.run;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.io.IOException;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "run",
    description = "Run one container without a deployment file, with Docker's flags",
    footer = {
      "",
      "Examples:",
      "  zlayer run --rm -it alpine sh",
      "  zlayer run -d --name web -p 8080:80 -v site:/usr/share/nginx/html:ro nginx",
      "  zlayer run --rm -v \"$PWD\":/src -w /src --memory 1g --cpus 2 maven mvn verify",
      "",
      "In the foreground, exits with the container's exit code; ^C is forwarded, ^P^Q detaches",
      "from a terminal. With --detach, prints the container's name. Exits with 127 when the",
      "program is not in the image and with 126 when it cannot be executed, as a shell does.",
      "Starts a daemon in the background when none is running."
    })
public final class RunCommand extends NewContainerCommand {
  /** So long the daemon leaves an ended one to us, who read its output and remove it. */
  private static final String LINGER = "30s";

  /** After so long without a start the daemon takes it that nobody is here any more. */
  private static final String START_WITHIN = "30s";

  /**
   * How far a slow reader of the output, such as a compressor, may be behind before the oldest is
   * lost. What nobody waits for has the usual limit.
   */
  private static final long FOREGROUND_LOG = 3L << 30;

  @Option(
      names = {"-d", "--detach"},
      description = "Run in the background")
  boolean detach;

  public RunCommand(Session session) {
    super(session);
  }

  @Override
  protected boolean streams() {
    return !detach;
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    if (tty && !detach && !session.keyboard()) {
      throw new AgentException.InvalidSpec("standard input is not a terminal; omit -t");
    }
    Json body = body();
    if (detach) {
      print(make(client, body).name());
      return 0;
    }
    if (!interactive && !tty) {
      try {
        var run = new StreamedRun(session, made -> foreground(client, made), this::noted);
        return run.run(
            () -> asked(client, with(body, "start", true), wanted -> run.ask(client, wanted)));
      } catch (DaemonProblem problem) {
        if (!problem.unknownRequest()) {
          throw problem;
        }
      }
    }
    Foreground foreground = foreground(client, make(client, body));
    return interactive || tty ? foreground.attached(tty) : foreground.watched();
  }

  private Foreground foreground(DaemonClient client, Made made) {
    return new Foreground(session, client, reconnecting(client), made.id(), made.name(), remove);
  }

  /** What the daemon is asked for. */
  Json body() {
    return flags(detach)
        .putIf("rm_after", Optional.of(LINGER).filter(_ -> remove && !detach))
        .putIf("start_within", Optional.of(START_WITHIN).filter(_ -> remove && !detach))
        .putIf(
            "logs",
            Optional.of(Json.object().put("max_size_bytes", FOREGROUND_LOG).build())
                .filter(_ -> !detach))
        .putIf("tty_size", size())
        .build();
  }

  private Optional<Json> size() {
    if (!tty || detach) {
      return Optional.empty(); // the first native call of a process takes long
    }
    return session
        .screen()
        .size()
        .map(size -> Json.object().put("rows", size.rows()).put("columns", size.columns()).build());
  }
}
