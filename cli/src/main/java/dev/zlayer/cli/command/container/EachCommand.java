package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** A verb that does one thing to each of the containers named, and prints their names when done. */
abstract class EachCommand extends AnswerCommand {
  @Option(
      names = {"-q", "--quiet"},
      description = "Do not print anything")
  private boolean quiet;

  @Parameters(
      paramLabel = "CONTAINER",
      arity = "1..*",
      description = "Container as deployment/service[/replica], name or id")
  private List<String> names = List.of();

  EachCommand(Session session) {
    super(session);
  }

  /** Does it to one and returns the daemon's answer. */
  abstract Json one(DaemonClient client, Target target) throws InterruptedException;

  /** Whether a whole deployment is meant; a single container of that name comes first. */
  static boolean deployment(DaemonClient client, Target target) throws InterruptedException {
    return target.parts().size() == 1
        && names(client.get("/deployments")).contains(target.text())
        && !names(client.get("/containers", Query.of("all", true))).contains(target.text());
  }

  private static List<String> names(Json answer) {
    return answer.items().stream().map(one -> text(one, "name")).toList();
  }

  /** Whether the answer says that something was done. */
  boolean done(String name, Json answer) {
    return true;
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    var answers = new ArrayList<Json>();
    int code =
        forEach(
            names,
            name -> {
              Json answer = one(client, Target.parse(name));
              answers.add(Json.object().put("target", name).put("answer", answer).build());
              if (done(name, answer) && !quiet && !json) {
                print(name);
              }
            });
    if (json) {
      session.out().print(JsonText.pretty(Json.of(answers)));
    }
    return code;
  }
}
