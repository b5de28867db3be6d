package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.Outcomes;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "wait",
    description = "Wait until a container exits and return its exit code",
    footer = {"", "Exits with the container's exit code, or 128 + n if it was killed by signal n."})
public final class WaitCommand extends AnswerCommand {
  enum Condition {
    NOT_RUNNING,
    NEXT_EXIT,
    REMOVED
  }

  @Option(
      names = "--condition",
      paramLabel = "CONDITION",
      description = "not_running, next_exit or removed (default: not_running)")
  private Condition condition = Condition.NOT_RUNNING;

  @Parameters(
      paramLabel = "CONTAINER",
      description = "Container as deployment/service[/replica], name or id")
  private String name = "";

  public WaitCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Target target = Target.parse(name);
    Query query =
        Query.of(
            "condition",
            switch (condition) {
              case NOT_RUNNING -> "not-running";
              case NEXT_EXIT -> "next-exit";
              case REMOVED -> "removed";
            });
    client.get(target.path());
    Json outcome = reconnecting(client).run(() -> client.post(target.path() + "/wait", query));
    show(outcome, () -> Outcomes.text(outcome) + "\n");
    return Outcomes.exitCode(outcome);
  }
}
