package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.JobTables;
import dev.zlayer.cli.print.Style;
import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(name = "history", description = "List executions, newest first")
public final class JobHistoryCommand extends AnswerCommand {
  enum Status {
    PENDING,
    INITIALIZING,
    RUNNING,
    UPLOADING,
    COMPLETED,
    FAILED,
    CANCELLED,
    LOST
  }

  @Option(
      names = "--status",
      paramLabel = "STATUS",
      description =
          "Show only this state: pending, initializing, running, uploading, completed, failed,"
              + " cancelled or lost")
  private @Nullable Status status;

  @Option(
      names = {"-n", "--limit"},
      paramLabel = "COUNT",
      description = "Maximum number of executions (default: 20)")
  private int limit = 20;

  @Parameters(
      paramLabel = "JOB",
      arity = "0..1",
      description = "deployment/job (default: all jobs)")
  private @Nullable String job;

  public JobHistoryCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Query query =
        Query.of("limit", limit)
            .andIf("job", Optional.ofNullable(job).map(JobName::parse))
            .andIf("status", Optional.ofNullable(status).map(word -> Json.of(word).string().get()));
    Json answer = client.get("/executions", query);
    show(
        answer,
        () ->
            JobTables.executions(
                items(answer, "executions"), Instant.now(), Style.of(session.colours())));
    return 0;
  }
}
