package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import picocli.CommandLine.Command;

@Command(
    name = "run",
    aliases = "trigger",
    description = "Run scheduled jobs now, in addition to their schedule")
public final class CronRunCommand extends CronEachCommand {
  public CronRunCommand(Session session) {
    super(session, "run");
  }
}
