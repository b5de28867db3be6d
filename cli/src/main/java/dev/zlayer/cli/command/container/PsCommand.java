package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.command.Watching;
import dev.zlayer.cli.print.ContainerTable;
import dev.zlayer.cli.print.Style;
import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "ps",
    description = "List containers of services, jobs and single runs",
    footer = {
      "",
      "Examples:",
      "  zlayer ps               running containers",
      "  zlayer ps --all shop    all containers of one deployment, also exited ones",
      "  zlayer ps --watch       refreshed in place until ^C"
    })
public final class PsCommand extends AnswerCommand {
  @Option(
      names = {"-a", "--all"},
      description = "Show all containers, not only running ones")
  private boolean all;

  @Option(
      names = {"-q", "--quiet"},
      description = "Print ids only")
  private boolean quiet;

  @Option(names = "--watch", description = "Refresh in place until ^C")
  private boolean watch;

  @Parameters(
      paramLabel = "DEPLOYMENT[/SERVICE]",
      arity = "0..1",
      description = "Show only this deployment or service")
  private @Nullable String only;

  public PsCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    if (watch) {
      return Watching.refresh(session, () -> table(fetch(client)).lines().toList());
    }
    Json answer = fetch(client);
    if (quiet) {
      Containers.list(answer).forEach(container -> print(Containers.id(container)));
    } else {
      show(answer, () -> table(answer));
    }
    return 0;
  }

  private Json fetch(DaemonClient client) throws InterruptedException {
    Query query = Query.NONE.flag("all", all);
    if (only != null) {
      List<String> parts = List.of(only.split("/", 2));
      query =
          query
              .and("deployment", parts.getFirst())
              .andIf("service", Optional.of(parts).filter(p -> p.size() > 1).map(List::getLast));
    }
    return client.get("/containers", query);
  }

  private String table(Json answer) {
    return ContainerTable.of(Containers.list(answer), Instant.now(), Style.of(session.colours()));
  }
}
