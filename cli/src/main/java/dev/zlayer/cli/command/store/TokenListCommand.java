package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.time.Instant;
import picocli.CommandLine.Command;

@Command(name = "ls", aliases = "list", description = "List tokens, never their secrets")
public final class TokenListCommand extends AnswerCommand {
  public TokenListCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer = client.get("/tokens");
    show(answer, () -> table(answer, Instant.now()).toString());
    return 0;
  }

  private static Table table(Json answer, Instant now) {
    var table = new Table("NAME", "ID", "SCOPE", "CREATED", "EXPIRES");
    for (Json token : items(answer, "tokens")) {
      table.row(
          text(token, "name"),
          text(token, "id"),
          token.at("deployment").string().map(own -> "deployment " + own).orElse("read-only"),
          token
              .at("created")
              .string()
              .map(then -> HumanUnits.age(Instant.parse(then), now))
              .orElse("-"),
          token.at("expired").bool().orElse(false)
              ? "expired"
              : token.at("expires").string().orElse("never"));
    }
    return table;
  }
}
