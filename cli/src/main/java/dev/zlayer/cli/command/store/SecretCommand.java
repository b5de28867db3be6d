package dev.zlayer.cli.command.store;

import dev.zlayer.cli.command.Group;

/** The verbs about secrets. */
public final class SecretCommand {
  private SecretCommand() {}

  public static Group group() {
    return new Group("secret", "Store secrets that deployment files refer to as $S:name")
        .with("set", SecretSetCommand::new)
        .with("ls", SecretListCommand::new)
        .with("rm", SecretRemoveCommand::new);
  }
}
