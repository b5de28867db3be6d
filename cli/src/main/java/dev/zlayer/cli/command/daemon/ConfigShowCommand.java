package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "show",
    description = "Show what is in force and where each value came from.",
    footer = {"", "Without a daemon: what one that is started here would use."})
public final class ConfigShowCommand extends AnswerCommand {
  @Option(names = "--local", description = "What a daemon started here would use.")
  private boolean local;

  public ConfigShowCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json config =
        local || !client.answers()
            ? Configurations.read(session, Optional.empty(), Map.of()).json()
            : client.get("/config");
    show(config, () -> table(config).toString());
    return 0;
  }

  private static Table table(Json config) {
    var table = new Table("KEY", "VALUE", "FROM");
    config
        .members()
        .forEach((key, value) -> table.row(key, text(value, "value"), text(value, "source")));
    return table;
  }
}
