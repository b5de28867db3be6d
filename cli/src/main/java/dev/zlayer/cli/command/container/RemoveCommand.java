package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "rm",
    description = "Remove containers that were created with run",
    aliases = "remove")
public final class RemoveCommand extends EachCommand {
  @Option(
      names = {"-f", "--force"},
      description = "Remove running containers too")
  private boolean force;

  @Option(
      names = {"-v", "--volumes"},
      description = "Remove its anonymous volumes too, which is always done; named ones stay")
  private boolean volumes;

  public RemoveCommand(Session session) {
    super(session);
  }

  @Override
  Json one(DaemonClient client, Target target) throws InterruptedException {
    return client.delete(target.path(), Query.NONE.flag("force", force).flag("volumes", volumes));
  }

  @Override
  boolean done(String name, Json answer) {
    boolean removed = answer.at("removed").bool().orElse(true);
    if (!removed) {
      tell("container '%s' not found, nothing to remove".formatted(name));
    }
    return removed;
  }
}
