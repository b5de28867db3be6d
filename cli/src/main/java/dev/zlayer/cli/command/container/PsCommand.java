package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.command.Watching;
import dev.zlayer.cli.print.ContainerFormat;
import dev.zlayer.cli.print.ContainerTable;
import dev.zlayer.cli.print.Style;
import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
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
      "  zlayer ps --watch       refreshed in place until ^C",
      "  zlayer ps --filter label=team=a --format '{{.Name}} {{.Status}}'",
      "",
      "--all also lists the last five ended replicas and failed init steps of each service, whose",
      "containers are removed; 'zlayer logs --previous' shows what they printed."
    })
public final class PsCommand extends AnswerCommand {
  @Option(
      names = {"-a", "--all"},
      description = "Show all containers, not only running ones")
  boolean all;

  @Option(
      names = {"-q", "--quiet"},
      description = "Print ids only")
  boolean quiet;

  @Option(
      names = "--filter",
      paramLabel = "KEY=VALUE",
      description =
          "Show only containers that fit: name, id, status, health, ancestor, label, deployment,"
              + " service, exited; may be repeated")
  List<String> filters = List.of();

  @Option(
      names = "--format",
      paramLabel = "TEMPLATE",
      description = "Print this for each, e.g. '{{.Name}} {{.Status}}', 'table ...' or json")
  @Nullable String format;

  @Option(names = "--watch", description = "Refresh in place until ^C")
  boolean watch;

  @Parameters(
      paramLabel = "DEPLOYMENT[/SERVICE]",
      arity = "0..1",
      description = "Show only this deployment or service")
  @Nullable String only;

  public PsCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    if (watch) {
      return Watching.refresh(
          session,
          () ->
              table(Json.of(ContainerFilter.pass(Containers.list(fetch(client)), filters)))
                  .lines()
                  .toList());
    }
    Json answer = Json.of(ContainerFilter.pass(Containers.list(fetch(client)), filters));
    if (format != null) {
      session.out().print(ContainerFormat.of(Containers.list(answer), format, Instant.now()));
    } else if (quiet) {
      Containers.list(answer).forEach(container -> print(Containers.id(container)));
    } else {
      show(answer, () -> table(answer));
    }
    return 0;
  }

  private Json fetch(DaemonClient client) throws InterruptedException {
    Query query = Query.NONE.flag("all", all || ContainerFilter.beyondRunning(filters));
    if (only != null) {
      List<String> parts = List.of(only.split("/", 2));
      query =
          query
              .and("deployment", parts.getFirst())
              .andIf("service", Optional.of(parts).filter(p -> p.size() > 1).map(List::getLast));
    }
    Json containers = client.get("/containers", query);
    return all && !quiet ? withEnded(containers, client.get("/ended", query)) : containers;
  }

  /** A container that is still there stands for itself. */
  private static Json withEnded(Json containers, Json ended) {
    var all = new ArrayList<>(Containers.list(containers));
    Set<String> known =
        all.stream()
            .map(one -> Containers.name(one) + "@" + number(one, "generation"))
            .collect(Collectors.toSet());
    ended.items().stream().filter(one -> !known.contains(Containers.name(one))).forEach(all::add);
    return new Json.Arr(all);
  }

  private String table(Json answer) {
    return ContainerTable.of(Containers.list(answer), Instant.now(), Style.of(session.colours()));
  }
}
