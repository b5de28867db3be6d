package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.json.Json;
import java.util.List;
import picocli.CommandLine.Parameters;

/** A verb that does one thing to each of the schedules named. */
abstract class CronEachCommand extends AnswerCommand {
  private final String verb;

  @Parameters(paramLabel = "CRON JOB", arity = "1..*", description = "deployment/schedule")
  private List<String> names = List.of();

  CronEachCommand(Session session, String verb) {
    super(session);
    this.verb = verb;
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    return forEach(
        names,
        name -> {
          Json answer = client.post("/cron" + JobName.parse(name).path() + "/" + verb, Query.NONE);
          show(answer, () -> answer.at("name").string().orElse(name) + "\n");
        });
  }
}
