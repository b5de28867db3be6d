package dev.zlayer.cli.command.deploy;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "revisions",
    description = "List the revisions of a deployment, oldest first",
    footer = {"", "'zlayer rollback DEPLOYMENT N' returns to one of them."})
public final class RevisionsCommand extends AnswerCommand {
  @Parameters(paramLabel = "DEPLOYMENT", description = "Deployment name")
  private String name = "";

  public RevisionsCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer = client.get("/deployments/" + Query.segment(name) + "/revisions");
    Json status = client.get("/deployments/" + Query.segment(name));
    show(answer, () -> table(answer, status).toString());
    return 0;
  }

  private static Table table(Json answer, Json status) {
    Instant now = Instant.now();
    var table = new Table("REVISION", "MADE", "FROM", "STATE");
    for (Json revision : items(answer, "revisions")) {
      table.row(
          number(revision, "revision"),
          revision
              .at("time")
              .string()
              .map(then -> HumanUnits.age(Instant.parse(then), now))
              .orElse("-"),
          text(revision, "reason"),
          state(revision, status));
    }
    return table;
  }

  /** The last one is what the deployment should be; services that it broke run an earlier one. */
  private static String state(Json revision, Json status) {
    if (!revision.at("revision").equals(status.at("revision"))) {
      return "-";
    }
    String returned =
        status.at("services").items().stream()
            .filter(service -> service.at("rollout").at("rolled_back_to").integer().isPresent())
            .map(
                service ->
                    "%s runs revision %s"
                        .formatted(
                            text(service, "name"), number(service.at("rollout"), "rolled_back_to")))
            .collect(Collectors.joining(", "));
    return text(status, "state") + (returned.isEmpty() ? "" : " (%s)".formatted(returned));
  }
}
