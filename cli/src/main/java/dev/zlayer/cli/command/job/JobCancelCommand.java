package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.command.job.JobStatusCommand.Executions;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(name = "cancel", description = "Cancel pending or running executions")
public final class JobCancelCommand extends ClientCommand {
  @Option(
      names = {"-q", "--quiet"},
      description = "Do not print anything")
  private boolean quiet;

  @Parameters(
      paramLabel = "EXECUTION",
      arity = "1..*",
      description = "Executions, as deployment/job/number or id")
  private List<String> ids = List.of();

  public JobCancelCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    return forEach(
        ids,
        id -> {
          Json execution = client.post(Executions.path(id) + "/cancel", Query.NONE);
          boolean late =
              execution.at("finished").string().isPresent()
                  && !execution.at("status").string().equals(Optional.of("cancelled"));
          if (late) {
            tell(id + " has already ended: " + ExecutionWatch.text(execution));
          } else if (!quiet) {
            print(id);
          }
        });
  }
}
