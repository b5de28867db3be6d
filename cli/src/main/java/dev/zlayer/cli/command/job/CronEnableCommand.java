package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import picocli.CommandLine.Command;

@Command(name = "enable", aliases = "resume", description = "Enable schedules")
public final class CronEnableCommand extends CronEachCommand {
  public CronEnableCommand(Session session) {
    super(session, "enable");
  }
}
