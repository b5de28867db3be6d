package dev.zlayer.cli.command.deploy;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.ConnectionLost;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.command.DeploymentFiles;
import dev.zlayer.cli.command.SourceFlags;
import dev.zlayer.cli.command.Watching;
import dev.zlayer.cli.command.daemon.BackgroundDaemon;
import dev.zlayer.cli.print.DiffText;
import dev.zlayer.cli.print.Style;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.json.Json;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "up",
    description = "Apply a deployment file and keep it running",
    footer = {
      "",
      "Examples:",
      "  zlayer up                          the only *.zlayer.yml in this directory",
      "  zlayer up shop.zlayer.yml --wait 5m",
      "  zlayer up - --no-wait < shop.zlayer.yml",
      "  zlayer up --dry-run                what would change",
      "  zlayer up --watch                  apply each change of the file, overrides or env files",
      "  zlayer up -f shop.zlayer.yml -f prod.yml --profile debug",
      "",
      "Starts a daemon in the background if none is running. ^C stops watching; the deployment",
      "continues. Exits with 0 when everything is ready, 3 if a service fails (its last",
      "output is shown), 4 if the time runs out first."
    })
public final class UpCommand extends AnswerCommand {
  private static final int INTERRUPTED = 130;
  private static final Duration BETWEEN_LOOKS = Duration.ofMillis(500);

  @Option(
      names = "--wait",
      paramLabel = "DURATION",
      description = "Time to wait until the deployment is ready (default: 60s)")
  private String wait = "60s";

  @Option(names = "--no-wait", description = "Return once the daemon has accepted the file")
  private boolean noWait;

  @Option(names = "--local", description = "In a cluster: run it on this node alone")
  private boolean local;

  @Option(names = "--dry-run", description = "Show what would change, and change nothing")
  private boolean dryRun;

  @Option(
      names = {"-w", "--watch"},
      description = "Apply again whenever a file changes, until ^C")
  private boolean watch;

  @Option(
      names = {"-q", "--quiet"},
      description = "Print errors only")
  private boolean quiet;

  @Mixin private SourceFlags sources = new SourceFlags();

  @Parameters(
      paramLabel = "FILE",
      arity = "0..1",
      description = "Deployment file; - reads standard input")
  private @Nullable String file;

  public UpCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    if (!watch) {
      return apply(client, load(session));
    }
    if (dryRun || "-".equals(file)) {
      throw new AgentException.InvalidSpec(
          "--watch needs files to watch and changes to apply: omit --dry-run and -");
    }
    return watch(client);
  }

  private DeploymentFiles.Loaded load(Session with) {
    return DeploymentFiles.load(with, Optional.ofNullable(file), sources);
  }

  /** Compares what the files amount to, so whatever they refer to is watched too. */
  private int watch(DaemonClient client) throws InterruptedException {
    var enough = new CountDownLatch(1);
    Session silent =
        new Session(
            new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8),
            new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8),
            session.in(),
            session.env(),
            session.directory(),
            false,
            false,
            false,
            session.screen());
    String seen = "";
    try (var _ = session.screen().onSignal("INT", enough::countDown)) {
      do {
        String now = content(silent);
        if (!now.equals(seen)) {
          seen = now;
          if (applied(client) == INTERRUPTED) {
            return 0;
          }
          tell("waiting for changes; ^C ends this, the deployment continues");
        }
      } while (!enough.await(BETWEEN_LOOKS.toMillis(), TimeUnit.MILLISECONDS));
    }
    Watching.afterInterrupt(session);
    return 0;
  }

  private String content(Session silent) {
    try {
      return new String(load(silent).content(), StandardCharsets.UTF_8);
    } catch (AgentException e) {
      return "! " + e.getMessage();
    }
  }

  /** What is wrong with a file, or becomes of it, is said; the next change may mend it. */
  private int applied(DaemonClient client) throws InterruptedException {
    try {
      return apply(client, load(session));
    } catch (AgentException e) {
      tell("zlayer: " + e.getMessage());
      return e.blame().exitCode();
    } catch (DaemonProblem e) {
      tell("zlayer: " + e.getMessage());
      return e.exitCode();
    } catch (ConnectionLost e) {
      tell("zlayer: " + e.getMessage());
      return e.blame().exitCode();
    }
  }

  private int apply(DaemonClient client, DeploymentFiles.Loaded deployment)
      throws InterruptedException {
    String limit = Durations.print(Durations.parse(wait)).replace(" ", "");
    BackgroundDaemon.of(session).ensure(client, this::tell);
    if (dryRun) {
      Json diff = DiffCommand.fetch(client, deployment, local);
      show(diff, () -> DiffText.of(diff, Style.of(session.colours())));
      return 0;
    }
    warnOfAnotherDirectory(client, deployment);
    String path = "/deployments/" + Query.segment(deployment.name());
    Query query = Query.of("directory", deployment.directory()).flag("local", local);
    if (noWait) {
      Json status = client.send("PUT", path, query, DaemonClient.YAML, deployment.content());
      show(
          status,
          () -> quiet ? "" : "'zlayer status " + deployment.name() + "' shows its progress\n");
      return 0;
    }
    var progress =
        new DeployProgress(
            session,
            json
                ? DeployProgress.Mode.JSON
                : quiet ? DeployProgress.Mode.QUIET : DeployProgress.Mode.PEOPLE);
    Optional<Json> result =
        progress.follow(client, "PUT", path, query.and("wait", limit), deployment.content());
    if (result.isEmpty()) {
      tell(
          "the deployment continues; 'zlayer status %s' shows its progress, 'zlayer down %s' removes it"
              .formatted(deployment.name(), deployment.name()));
      return INTERRUPTED;
    }
    return DeployResult.report(session, deployment.name(), result.get(), quiet || json);
  }

  /** Two projects with the same name would replace each other all the time. */
  private void warnOfAnotherDirectory(DaemonClient client, DeploymentFiles.Loaded deployment)
      throws InterruptedException {
    for (Json known : items(client.get("/deployments"), "deployments")) {
      String directory = text(known, "directory");
      if (text(known, "name").equals(deployment.name())
          && !directory.equals(deployment.directory().toString())) {
        tell(
            "warning: deployment '%s' was applied from %s before; this file replaces it"
                .formatted(deployment.name(), directory));
      }
    }
  }
}
