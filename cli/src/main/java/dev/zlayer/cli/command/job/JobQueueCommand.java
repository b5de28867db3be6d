package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.JobTables;
import dev.zlayer.json.Json;
import java.time.Instant;
import picocli.CommandLine.Command;

@Command(name = "queue", description = "List pending executions in queue order")
public final class JobQueueCommand extends AnswerCommand {
  public JobQueueCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer = client.get("/queue");
    show(answer, () -> JobTables.queue(items(answer, "queue"), Instant.now()));
    return 0;
  }
}
