package dev.zlayer.cli.command.store;

import dev.zlayer.cli.command.Group;

/** The verbs about networks. */
public final class NetworkCommand {
  private NetworkCommand() {}

  public static Group group() {
    return new Group("network", "List and remove networks")
        .with("ls", NetworkListCommand::new)
        .with("rm", NetworkRemoveCommand::new);
  }
}
