package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.TerminalText;
import dev.zlayer.json.Json;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "diff",
    description = "List files that a container added (A), changed (C) or deleted (D)",
    footer = {"", "Compared with its image; volumes are not part of it."})
public final class ChangesCommand extends AnswerCommand {
  @Parameters(
      paramLabel = "CONTAINER",
      description = "Container as deployment/service[/replica], name or id")
  private String name = "";

  public ChangesCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json changes = client.get(Target.parse(name).path() + "/changes");
    show(
        changes,
        () ->
            changes.items().stream()
                .map(change -> kind(change) + " " + path(change) + "\n")
                .collect(Collectors.joining()));
    return 0;
  }

  /** The container chose it, so it may hold anything. */
  private static String path(Json change) {
    return TerminalText.escapeLine(text(change, "path"));
  }

  private static String kind(Json change) {
    return switch (text(change, "kind")) {
      case "added" -> "A";
      case "deleted" -> "D";
      default -> "C";
    };
  }
}
