package dev.zlayer.cli.command.deploy;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.command.DeploymentFiles;
import dev.zlayer.cli.command.SourceFlags;
import dev.zlayer.cli.print.DiffText;
import dev.zlayer.cli.print.Style;
import dev.zlayer.json.Json;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "diff",
    description = "Show what 'up' with this file would change",
    footer = {"", "Without FILE, uses the only *.zlayer.yml in the current directory."})
public final class DiffCommand extends AnswerCommand {
  @Option(names = "--exit-code", description = "Exit with 1 if something would change")
  private boolean asCode;

  @Option(
      names = "--local",
      description = "In a cluster: compare with the deployment of this node alone")
  private boolean local;

  @Mixin private SourceFlags sources = new SourceFlags();

  @Parameters(
      paramLabel = "FILE",
      arity = "0..1",
      description = "File to compare; - reads standard input")
  private @Nullable String file;

  public DiffCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    var deployment = DeploymentFiles.load(session, Optional.ofNullable(file), sources);
    Json diff = fetch(client, deployment, local);
    boolean changes = DiffText.changes(diff);
    show(diff, () -> DiffText.of(diff, Style.of(session.colours())));
    return changes && asCode ? 1 : 0;
  }

  static Json fetch(DaemonClient client, DeploymentFiles.Loaded deployment, boolean local)
      throws InterruptedException {
    return client.send(
        "POST",
        "/deployments/" + Query.segment(deployment.name()) + "/diff",
        Query.of("directory", deployment.directory()).flag("local", local),
        DaemonClient.YAML,
        deployment.content());
  }
}
