package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import picocli.CommandLine.Command;

@Command(
    name = "connect",
    description = "Refused: a container keeps the network that it was created on",
    footer = {"", "Create the container again with '--network NETWORK'."})
public final class NetworkConnectCommand extends NetworkMoveCommand {
  public NetworkConnectCommand(Session session) {
    super(session, "/connect");
  }
}
