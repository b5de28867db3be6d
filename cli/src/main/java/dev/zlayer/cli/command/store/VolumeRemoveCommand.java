package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.Query;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(name = "rm", aliases = "remove", description = "Remove unused volumes with their content")
public final class VolumeRemoveCommand extends RemoveEachCommand {
  @Option(
      names = "--node",
      paramLabel = "NAME",
      description = "In a cluster: node (default: the one that is asked, else the one that has it)")
  private @Nullable String node;

  public VolumeRemoveCommand(Session session) {
    super(session, "/volumes/");
  }

  @Override
  protected Query query() {
    return Query.NONE.andIf("node", Optional.ofNullable(node));
  }
}
