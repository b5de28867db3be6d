package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.Outcomes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.TaskScope;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "wait",
    description = "Wait until containers exit and return their exit code",
    footer = {
      "",
      "Exits with the container's exit code, or 128 + n if it was killed by signal n; of several",
      "with that of the first in the order given that is not 0."
    })
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
      arity = "1..*",
      description = "Container as deployment/service[/replica], name or id")
  private List<String> names = List.of();

  public WaitCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    List<Target> targets = names.stream().map(Target::parse).toList();
    for (Target target : targets) {
      client.get(target.path()); // a name that is wrong is reported before anything is waited for
    }
    if (targets.size() == 1) {
      Json outcome = outcome(client, targets.getFirst());
      show(outcome, () -> Outcomes.text(outcome) + "\n");
      return Outcomes.exitCode(outcome);
    }
    return several(targets);
  }

  /** At the same time: one that ends first may be removed before the others end. */
  private int several(List<Target> targets) throws InterruptedException {
    List<TaskScope.Task<Json>> waiting;
    try (var scope = new TaskScope("wait")) {
      waiting = targets.stream().map(target -> scope.fork(() -> outcome(target))).toList();
      scope.join();
    } catch (TaskScope.TaskFailed e) {
      throw e.getCause() instanceof RuntimeException ours ? ours : e;
    }
    int code = 0;
    var all = new ArrayList<Json>();
    for (int i = 0; i < targets.size(); i++) {
      Json outcome = waiting.get(i).result();
      String name = targets.get(i).text();
      all.add(Json.object().put("target", name).put("answer", outcome).build());
      if (!json) {
        print(name + " " + Outcomes.text(outcome));
      }
      code = code == 0 ? Outcomes.exitCode(outcome) : code;
    }
    if (json) {
      session.out().print(JsonText.pretty(Json.of(all)));
    }
    return code;
  }

  private Json outcome(Target target) throws InterruptedException {
    try (DaemonClient own = open()) {
      return outcome(own, target);
    }
  }

  private Json outcome(DaemonClient client, Target target) throws InterruptedException {
    Query query =
        Query.of(
            "condition",
            switch (condition) {
              case NOT_RUNNING -> "not-running";
              case NEXT_EXIT -> "next-exit";
              case REMOVED -> "removed";
            });
    return reconnecting(client).run(() -> client.post(target.path() + "/wait", query));
  }
}
