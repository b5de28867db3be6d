package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
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

  @Option(names = "--local", description = "In a cluster: show those of this node alone")
  private boolean local;

  public SecretListCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer =
        client.get(
            "/secrets",
            Query.NONE.andIf("deployment", Optional.ofNullable(deployment)).flag("local", local));
    show(answer, () -> table(answer, Instant.now()).toString());
    return 0;
  }

  private static Table table(Json answer, Instant now) {
    List<Json> secrets = items(answer, "secrets");
    // in a cluster, those that one node alone has
    boolean nodes = secrets.stream().anyMatch(secret -> !secret.at("node").isNull());
    var heads = new ArrayList<>(List.of("SECRET", "DEPLOYMENT", "FINGERPRINT", "CHANGED"));
    if (nodes) {
      heads.add("NODE");
    }
    var table = new Table(heads.toArray(String[]::new));
    for (Json secret : secrets) {
      var row = new ArrayList<String>();
      row.add(
          secret.at("service").string().map(service -> "@" + service + "/").orElse("")
              + text(secret, "name"));
      row.add(secret.at("deployment").string().orElse("all"));
      row.add(text(secret, "fingerprint"));
      row.add(
          secret
              .at("changed")
              .string()
              .map(then -> HumanUnits.age(Instant.parse(then), now))
              .orElse("-"));
      if (nodes) {
        row.add(secret.at("node").string().orElse("all"));
      }
      table.row(row.toArray(String[]::new));
    }
    return table;
  }
}
