package dev.zlayer.cli.command.system;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.terminal.Question;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;

/** Shows what would be removed, asks, and removes it. */
abstract class PruneCommand extends AnswerCommand {
  @Option(
      names = {"-f", "--force"},
      description = "Do not ask")
  private boolean force;

  @Option(names = "--dry-run", description = "Only show what would be removed")
  private boolean dryRun;

  PruneCommand(Session session) {
    super(session);
  }

  /** What would be removed, one line each. */
  abstract List<String> preview(Unused unused);

  abstract Json prune(DaemonClient client, Unused unused) throws InterruptedException;

  @Override
  protected final int run(DaemonClient client) throws InterruptedException {
    var unused = Unused.of(client);
    List<String> preview = preview(unused);
    if (dryRun || (!force && !json)) {
      preview.forEach(line -> (dryRun ? session.out() : session.err()).println(line));
    }
    if (dryRun) {
      return 0;
    }
    if (preview.isEmpty()) {
      tell("nothing to remove");
      return 0;
    }
    if (!force && !Question.ask(session, "Remove these?")) {
      tell("nothing was removed");
      return 1;
    }
    Json done = prune(client, unused);
    show(done, () -> summary(preview, done));
    return 0;
  }

  private static String summary(List<String> preview, Json done) {
    String freed =
        done.at("reclaimed_bytes")
            .integer()
            .map(bytes -> "reclaimed " + HumanUnits.bytes(bytes) + "\n")
            .orElse("");
    var text = new StringBuilder();
    preview.forEach(line -> text.append("removed ").append(line).append('\n'));
    return text.append(freed).toString();
  }

  /** One that runs again meanwhile is refused by the daemon, and stays. */
  final List<Json> removeAll(DaemonClient client, List<Json> containers)
      throws InterruptedException {
    var removed = new ArrayList<Json>();
    for (Json container : containers) {
      String name = text(container, "name");
      try {
        client.delete(Target.parse(text(container, "id")).path(), Query.NONE);
        removed.add(Json.of(name));
      } catch (DaemonProblem problem) {
        tell("zlayer: " + problem.getMessage());
      }
    }
    return removed;
  }
}
