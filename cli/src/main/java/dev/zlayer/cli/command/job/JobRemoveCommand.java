package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "rm",
    aliases = "remove",
    description = "Remove jobs that 'job run -f' registered",
    footer = {
      "",
      "Running executions continue, waiting ones fail. Results are kept as long as those of other",
      "removed jobs."
    })
public final class JobRemoveCommand extends ClientCommand {
  @Option(
      names = {"-q", "--quiet"},
      description = "Do not print anything")
  private boolean quiet;

  @Parameters(
      paramLabel = "JOB",
      arity = "1..*",
      description = "Names of jobs without a deployment")
  private List<String> names = List.of();

  public JobRemoveCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    return forEach(
        names,
        name -> {
          if (name.contains("/")) {
            throw new AgentException.InvalidSpec(
                "job '%s' belongs to a deployment; remove it from the file and run 'zlayer up'"
                    .formatted(name));
          }
          client.delete("/jobs" + JobName.single(name).path(), Query.NONE);
          if (!quiet) {
            print(name);
          }
        });
  }
}
