package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import picocli.CommandLine.Command;

@Command(
    name = "rm",
    aliases = "remove",
    description = "Remove volumes that nothing uses, with all that is in them.")
public final class VolumeRemoveCommand extends RemoveEachCommand {
  public VolumeRemoveCommand(Session session) {
    super(session, "/volumes/");
  }
}
