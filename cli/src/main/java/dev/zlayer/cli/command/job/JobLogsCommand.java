package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.command.job.JobStatusCommand.Executions;
import dev.zlayer.cli.print.LogPrinter;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "logs",
    description = "Show the output of an execution, also after its container was removed")
public final class JobLogsCommand extends ClientCommand {
  @Option(
      names = {"-f", "--follow"},
      description = "Follow new output")
  private boolean follow;

  @Option(
      names = "--attempt",
      paramLabel = "NUMBER",
      description = "Attempt number (default: the last)")
  private @Nullable Integer attempt;

  @Option(
      names = {"-t", "--timestamps"},
      description = "Show timestamps")
  private boolean times;

  @Option(names = "--raw", description = "Write control characters to a terminal unescaped")
  private boolean raw;

  @Parameters(
      paramLabel = "EXECUTION|JOB",
      description =
          "Execution as deployment/job/number or id; deployment/job, or a job without a"
              + " deployment, is its last one")
  private String name = "";

  public JobLogsCommand(Session session) {
    super(session);
  }

  @Override
  protected boolean streams() {
    return follow;
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    String id = Executions.find(client, name).at("id").string().orElse(name);
    Query query = Query.NONE.flag("follow", follow).andIf("attempt", Optional.ofNullable(attempt));
    new ExecutionWatch(session, client, reconnecting(client))
        .output(id, query, LogPrinter.of(session, times, raw).source());
    return 0;
  }
}
