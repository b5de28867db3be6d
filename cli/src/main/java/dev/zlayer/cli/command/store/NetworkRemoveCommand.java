package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import picocli.CommandLine.Command;

@Command(
    name = "rm",
    aliases = "remove",
    description = "Remove unused networks",
    footer = {"", "A network is created by the first container that names it, and kept."})
public final class NetworkRemoveCommand extends RemoveEachCommand {
  public NetworkRemoveCommand(Session session) {
    super(session, "/networks/");
  }
}
