package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.command.Group;

/** The verbs about settings. */
public final class ConfigCommand {
  private ConfigCommand() {}

  public static Group group() {
    return new Group("config", "Show the settings of the daemon and where they come from.")
        .with("show", ConfigShowCommand::new);
  }
}
