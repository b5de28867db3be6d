package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import picocli.CommandLine.Command;

@Command(
    name = "rm",
    aliases = "remove",
    description = "Remove networks that no container is on.",
    footer = {"", "A network is made by the first container that names it, and stays."})
public final class NetworkRemoveCommand extends RemoveEachCommand {
  public NetworkRemoveCommand(Session session) {
    super(session, "/networks/");
  }
}
