package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import picocli.CommandLine.Command;

@Command(
    name = "disconnect",
    description = "Disconnect a container from a network, also while it runs")
public final class NetworkDisconnectCommand extends NetworkMoveCommand {
  public NetworkDisconnectCommand(Session session) {
    super(session, "/disconnect");
  }
}
