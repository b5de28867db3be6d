package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.command.job.JobStatusCommand.Executions;
import dev.zlayer.json.Json;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "retry",
    description = "Run ended executions again, with the same arguments, variables and priority")
public final class JobRetryCommand extends AnswerCommand {
  @Parameters(
      paramLabel = "EXECUTION|JOB",
      arity = "1..*",
      description = "Execution as deployment/job/number or id; deployment/job is its last one")
  private List<String> names = List.of();

  public JobRetryCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    return forEach(
        names,
        name -> {
          String id = text(Executions.find(client, name), "id");
          Json again = client.post(Executions.path(id) + "/retry", Query.NONE);
          show(again, () -> text(again, "name") + "\n");
        });
  }
}
