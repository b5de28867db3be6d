package dev.zlayer.cli.command.deploy;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.command.Watching;
import dev.zlayer.cli.print.StatusText;
import dev.zlayer.cli.print.Style;
import dev.zlayer.json.Json;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "status",
    description = "Show the status of a deployment, or list all deployments",
    footer = {
      "",
      "Examples:",
      "  zlayer status           all deployments",
      "  zlayer status shop      services, replicas, jobs, pending dependencies, last errors"
    })
public final class StatusCommand extends AnswerCommand {
  @Option(names = "--watch", description = "Refresh in place until ^C")
  private boolean watch;

  @Parameters(paramLabel = "DEPLOYMENT", arity = "0..1", description = "Deployment name")
  private @Nullable String name;

  public StatusCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    if (watch) {
      return Watching.refresh(session, () -> text(fetch(client)).lines().toList());
    }
    Json answer = fetch(client);
    show(answer, () -> text(answer));
    return 0;
  }

  private Json fetch(DaemonClient client) throws InterruptedException {
    return client.get(name == null ? "/deployments" : "/deployments/" + Query.segment(name));
  }

  private String text(Json answer) {
    Style style = Style.of(session.colours());
    return name == null
        ? StatusText.list(items(answer, "deployments"), Instant.now(), style)
        : StatusText.of(answer, Instant.now(), style);
  }
}
