package dev.zlayer.cli.command.system;

import dev.zlayer.cli.command.Group;

/** The verbs about disk usage. */
public final class SystemCommand {
  private SystemCommand() {}

  public static Group group() {
    return new Group("system", "Show disk usage, remove what is not used, or everything")
        .with("df", SystemDfCommand::new)
        .with("prune", SystemPruneCommand::new)
        .with("uninstall", SystemUninstallCommand::new);
  }
}
