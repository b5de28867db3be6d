package dev.zlayer.cli.command.deploy;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.error.Durations;
import dev.zlayer.json.Json;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "rollback",
    description = "Roll a deployment back to an earlier revision",
    footer = {"", "'zlayer revisions DEPLOYMENT' lists them."})
public final class RollbackCommand extends AnswerCommand {
  @Option(
      names = "--wait",
      paramLabel = "DURATION",
      description = "Time to wait until the deployment is ready (default: 60s)")
  private String wait = "60s";

  @Option(
      names = {"-q", "--quiet"},
      description = "Print errors only")
  private boolean quiet;

  @Parameters(index = "0", paramLabel = "DEPLOYMENT", description = "Deployment name")
  private String name = "";

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "REVISION",
      description = "Revision number (default: the previous one)")
  private @Nullable Long revision;

  public RollbackCommand(Session session) {
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
            "POST",
            "/deployments/" + Query.segment(name) + "/rollback",
            Query.of("wait", limit).andIf("revision", Optional.ofNullable(revision)),
            new byte[0]);
    if (result.isEmpty()) {
      tell("the rollback continues; 'zlayer status " + name + "' shows its progress");
      return 130;
    }
    return DeployResult.report(session, name, result.get(), quiet || json);
  }
}
