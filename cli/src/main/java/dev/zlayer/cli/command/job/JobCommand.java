package dev.zlayer.cli.command.job;

import dev.zlayer.cli.command.Group;

/** The verbs about jobs. */
public final class JobCommand {
  private JobCommand() {}

  public static Group group() {
    return new Group("job", "Run jobs, and show their results and output")
        .with("ls", JobListCommand::new)
        .with("run", JobRunCommand::new)
        .with("status", JobStatusCommand::new)
        .with("logs", JobLogsCommand::new)
        .with("history", JobHistoryCommand::new)
        .with("queue", JobQueueCommand::new)
        .with("artifacts", JobArtifactsCommand::new)
        .with("rm", JobRemoveCommand::new)
        .with("cancel", JobCancelCommand::new)
        .with("retry", JobRetryCommand::new);
  }
}
