package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.command.Archive;
import dev.zlayer.cli.command.job.JobStatusCommand.Executions;
import dev.zlayer.cli.print.JobTables;
import dev.zlayer.json.Json;
import java.io.IOException;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "artifacts",
    description = "List the artifacts of an execution, or download one as a tar archive",
    footer = {
      "",
      "Examples:",
      "  zlayer job artifacts shop/report",
      "  zlayer job artifacts shop/report /out | tar x"
    })
public final class JobArtifactsCommand extends AnswerCommand {
  @Option(
      names = "--attempt",
      paramLabel = "NUMBER",
      description = "Attempt number (default: the last)")
  private @Nullable Integer attempt;

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FILE",
      description = Archive.WHERE)
  private @Nullable String output;

  @Parameters(
      index = "0",
      paramLabel = "EXECUTION|JOB",
      description =
          "Execution as deployment/job/number or id; deployment/job, or a job without a"
              + " deployment, is its last one")
  private String name = "";

  @Parameters(index = "1", arity = "0..1", paramLabel = "PATH", description = "Artifact path")
  private @Nullable String path;

  public JobArtifactsCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    String id = Executions.find(client, name).at("id").string().orElse(name);
    String kept = "/executions/" + Query.segment(id) + "/artifacts";
    Query query = Query.NONE.andIf("attempt", Optional.ofNullable(attempt));
    if (path == null) {
      Json answer = client.get(kept, query);
      show(answer, () -> JobTables.artifacts(items(answer, "artifacts")));
    } else {
      Archive.requirePlace(session, output);
      Archive.keep(session, output, client.download(kept + "/" + below(path), query));
    }
    return 0;
  }

  private static String below(String path) {
    return Arrays.stream(path.split("/", -1))
        .filter(part -> !part.isEmpty())
        .map(Query::segment)
        .collect(Collectors.joining("/"));
  }
}
