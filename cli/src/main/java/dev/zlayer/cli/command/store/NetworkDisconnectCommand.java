package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import picocli.CommandLine.Command;

@Command(
    name = "disconnect",
    description = "Refused: a container keeps the network that it was created on",
    footer = {"", "Create the container again with '--network none'."})
public final class NetworkDisconnectCommand extends NetworkMoveCommand {
  public NetworkDisconnectCommand(Session session) {
    super(session, "/disconnect");
  }
}
