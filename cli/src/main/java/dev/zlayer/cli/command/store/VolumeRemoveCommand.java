package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import picocli.CommandLine.Command;

@Command(name = "rm", aliases = "remove", description = "Remove unused volumes with their content")
public final class VolumeRemoveCommand extends RemoveEachCommand {
  public VolumeRemoveCommand(Session session) {
    super(session, "/volumes/");
  }
}
