package dev.zlayer.cli.command.deploy;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.error.Durations;
import dev.zlayer.json.Json;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "down",
    description = "Stop and remove a deployment with its services, jobs and schedules",
    footer = {"", "Example:  zlayer down shop --volumes    also remove its named volumes"})
public final class DownCommand extends AnswerCommand {
  @Option(names = "--volumes", description = "Remove its named volumes too")
  private boolean volumes;

  @Option(
      names = "--wait",
      paramLabel = "DURATION",
      description = "Time to wait until it is removed (default: 60s)")
  private String wait = "60s";

  @Option(
      names = {"-q", "--quiet"},
      description = "Print errors only")
  private boolean quiet;

  @Parameters(paramLabel = "DEPLOYMENT", description = "Deployment name")
  private String name = "";

  public DownCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    String limit = Durations.print(Durations.parse(wait)).replace(" ", "");
    var progress =
        new DeployProgress(
            session,
            json
                ? DeployProgress.Mode.JSON
                : quiet ? DeployProgress.Mode.QUIET : DeployProgress.Mode.PEOPLE);
    Optional<Json> result =
        progress.follow(
            client,
            "DELETE",
            "/deployments/" + Query.segment(name),
            Query.of("volumes", volumes).and("wait", limit),
            new byte[0]);
    if (result.isEmpty()) {
      tell("the removal continues");
      return 130;
    }
    return DeployResult.report(session, name, result.get(), quiet || json);
  }
}
