package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.command.Group;

/** The verbs about settings. */
public final class ConfigCommand {
  private ConfigCommand() {}

  public static Group group() {
    return new Group("config", "Show the configuration of the daemon")
        .with("show", ConfigShowCommand::new);
  }
}
