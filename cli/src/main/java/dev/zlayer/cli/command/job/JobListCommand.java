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
import picocli.CommandLine.Parameters;

@Command(name = "ls", aliases = "list", description = "List jobs with their last result")
public final class JobListCommand extends AnswerCommand {
  @Parameters(paramLabel = "DEPLOYMENT", arity = "0..1", description = "Show only this deployment")
  private @Nullable String deployment;

  public JobListCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer =
        client.get("/jobs", Query.NONE.andIf("deployment", Optional.ofNullable(deployment)));
    show(
        answer,
        () -> JobTables.jobs(items(answer, "jobs"), Instant.now(), Style.of(session.colours())));
    return 0;
  }
}
