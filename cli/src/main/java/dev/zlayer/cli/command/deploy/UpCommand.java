package dev.zlayer.cli.command.deploy;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.command.DeploymentFiles;
import dev.zlayer.cli.command.daemon.BackgroundDaemon;
import dev.zlayer.error.Durations;
import dev.zlayer.json.Json;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "up",
    description = "Make a deployment file true, and keep it true.",
    footer = {
      "",
      "Examples:",
      "  zlayer up                          the only *.zlayer.yml of this directory",
      "  zlayer up shop.zlayer.yml --wait 5m",
      "  zlayer up - --no-wait < shop.zlayer.yml",
      "",
      "Without a daemon one is started in the background. ^C stops watching; the deployment",
      "goes on. Exit code 0 when everything is as wanted, 3 when a service fails (its last",
      "output is shown), 4 when the time is over before."
    })
public final class UpCommand extends AnswerCommand {
  @Option(
      names = "--wait",
      paramLabel = "DURATION",
      description = "How long to wait until it is as wanted (default: 60s).")
  private String wait = "60s";

  @Option(names = "--no-wait", description = "Return as soon as the daemon has taken it.")
  private boolean noWait;

  @Option(
      names = {"-q", "--quiet"},
      description = "Print only problems.")
  private boolean quiet;

  @Parameters(
      paramLabel = "FILE",
      arity = "0..1",
      description = "What to deploy; - is standard input.")
  private @Nullable String file;

  public UpCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    var deployment = DeploymentFiles.load(session, Optional.ofNullable(file));
    String limit = Durations.print(Durations.parse(wait)).replace(" ", "");
    if (client.address().local() && !client.answers()) {
      BackgroundDaemon.of(session).start(client, this::tell);
    }
    String path = "/deployments/" + Query.segment(deployment.name());
    Query query = Query.of("directory", deployment.directory());
    if (noWait) {
      Json status = client.send("PUT", path, query, DaemonClient.YAML, deployment.content());
      show(status, () -> quiet ? "" : "'zlayer status " + deployment.name() + "' follows it\n");
      return 0;
    }
    var progress =
        new Progress(
            session,
            json ? Progress.Mode.JSON : quiet ? Progress.Mode.QUIET : Progress.Mode.PEOPLE);
    Optional<Json> result =
        progress.follow(client, "PUT", path, query.and("wait", limit), deployment.content());
    if (result.isEmpty()) {
      tell(
          "the deployment goes on; 'zlayer status %s' shows it, 'zlayer down %s' ends it"
              .formatted(deployment.name(), deployment.name()));
      return 130;
    }
    return Settlement.report(session, deployment.name(), result.get(), quiet || json);
  }
}
