package dev.zlayer.cli.command.deploy;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.time.Instant;
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
    show(answer, () -> table(answer).toString());
    return 0;
  }

  private static Table table(Json answer) {
    Instant now = Instant.now();
    var table = new Table("REVISION", "MADE", "FROM");
    for (Json revision : items(answer, "revisions")) {
      table.row(
          number(revision, "revision"),
          revision
              .at("time")
              .string()
              .map(then -> HumanUnits.age(Instant.parse(then), now))
              .orElse("-"),
          text(revision, "reason"));
    }
    return table;
  }
}
