package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.command.Group;

/** The verbs about the daemon. */
public final class DaemonCommand {
  private DaemonCommand() {}

  public static Group group() {
    return new Group("daemon", "Start, stop, inspect, install and back up the daemon")
        .with("start", DaemonStartCommand::new)
        .with("stop", DaemonStopCommand::new)
        .with("status", DaemonStatusCommand::new)
        .with("install", DaemonInstallCommand::new)
        .with("backup", DaemonBackupCommand::new)
        .with("restore", DaemonRestoreCommand::new)
        .withHidden("dial-stdio", DialStdioCommand::new);
  }
}
