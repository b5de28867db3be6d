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
    description = "Show the effective configuration and the source of each value",
    footer = {"", "Without a daemon, shows what a daemon started here would use."})
public final class ConfigShowCommand extends AnswerCommand {
  @Option(names = "--local", description = "Show what a daemon started here would use")
  private boolean local;

  public ConfigShowCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Optional<Json> known = local ? Optional.empty() : client.getIfRunning("/config");
    Json config =
        known.orElseGet(() -> Configurations.read(session, Optional.empty(), Map.of()).json());
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
