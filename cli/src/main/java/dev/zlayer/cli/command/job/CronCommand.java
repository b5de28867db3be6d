package dev.zlayer.cli.command.job;

import dev.zlayer.cli.command.Group;

/** The verbs about schedules. */
public final class CronCommand {
  private CronCommand() {}

  public static Group group() {
    return new Group("cron", "List, run, enable and disable schedules")
        .with("ls", CronListCommand::new)
        .with("run", CronRunCommand::new)
        .with("enable", CronEnableCommand::new)
        .with("disable", CronDisableCommand::new);
  }
}
