package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import picocli.CommandLine.Command;

@Command(name = "disable", aliases = "pause", description = "Disable schedules")
public final class CronDisableCommand extends CronEachCommand {
  public CronDisableCommand(Session session) {
    super(session, "disable");
  }
}
