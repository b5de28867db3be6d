package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "ls",
    aliases = "list",
    description = "List the names of secrets, never their values")
public final class SecretListCommand extends AnswerCommand {
  @Option(names = "--deployment", paramLabel = "NAME", description = "Show only this deployment")
  private @Nullable String deployment;

  public SecretListCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer =
        client.get("/secrets", Query.NONE.andIf("deployment", Optional.ofNullable(deployment)));
    show(answer, () -> table(answer, Instant.now()).toString());
    return 0;
  }

  private static Table table(Json answer, Instant now) {
    var table = new Table("SECRET", "DEPLOYMENT", "FINGERPRINT", "CHANGED");
    for (Json secret : items(answer, "secrets")) {
      table.row(
          secret.at("service").string().map(service -> "@" + service + "/").orElse("")
              + text(secret, "name"),
          secret.at("deployment").string().orElse("all"),
          text(secret, "fingerprint"),
          secret
              .at("changed")
              .string()
              .map(then -> HumanUnits.age(Instant.parse(then), now))
              .orElse("-"));
    }
    return table;
  }
}
