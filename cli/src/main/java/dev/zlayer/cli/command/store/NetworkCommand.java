package dev.zlayer.cli.command.store;

import dev.zlayer.cli.command.Group;

/** The verbs about networks. */
public final class NetworkCommand {
  private NetworkCommand() {}

  public static Group group() {
    return new Group("network", "Create, list, inspect and remove networks")
        .with("create", NetworkCreateCommand::new)
        .with("ls", NetworkListCommand::new)
        .with("inspect", NetworkInspectCommand::new)
        .with("connect", NetworkConnectCommand::new)
        .with("disconnect", NetworkDisconnectCommand::new)
        .with("rm", NetworkRemoveCommand::new);
  }
}
