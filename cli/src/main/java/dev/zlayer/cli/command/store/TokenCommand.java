package dev.zlayer.cli.command.store;

import dev.zlayer.cli.command.Group;

/** The verbs about scoped tokens. */
public final class TokenCommand {
  private TokenCommand() {}

  public static Group group() {
    return new Group("token", "Manage tokens with limited rights for the TCP listener")
        .with("create", TokenCreateCommand::new)
        .with("ls", TokenListCommand::new)
        .with("rm", TokenRemoveCommand::new);
  }
}
