package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.JobTables;
import dev.zlayer.cli.print.Style;
import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.List;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "status",
    description = "Show an execution, or the last one of a job",
    footer = {
      "",
      "Exits with 0 whatever the result was; 'job run --wait' returns the job's exit code."
    })
public final class JobStatusCommand extends AnswerCommand {
  @Parameters(
      paramLabel = "EXECUTION|JOB",
      description =
          "Execution as deployment/job/number or id; deployment/job, or a job without a"
              + " deployment, is its last one")
  private String name = "";

  public JobStatusCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json execution = Executions.find(client, name);
    show(
        execution,
        () -> JobTables.execution(execution, Instant.now(), Style.of(session.colours())));
    return 0;
  }

  /** Finds executions by name or id, or the newest by the name of the job. */
  static final class Executions {
    private static final Pattern EXECUTION = Pattern.compile("[0-9a-z]{26}");

    private Executions() {}

    /** Where the daemon finds it; a slash separates the parts of a name, not of a path. */
    static String path(String name) {
      return "/executions/" + Query.segment(name.replace('/', ':'));
    }

    static Json find(DaemonClient client, String name) throws InterruptedException {
      if (name.matches(".+/\\d+")) {
        try {
          return client.get(path(name));
        } catch (DaemonProblem problem) {
          if (!problem.notFound() || name.indexOf('/') != name.lastIndexOf('/')) {
            throw problem;
          }
          // a job whose name is a number
        }
      }
      JobName job = JobName.parse(name);
      List<Json> newest =
          items(
              client.get("/executions", Query.of("job", job.toString()).and("limit", 1)),
              "executions");
      if (newest.isEmpty() && EXECUTION.matcher(name).matches()) {
        return client.get("/executions/" + Query.segment(name));
      }
      if (newest.isEmpty()) {
        client.get("/jobs" + job.path()); // says so when there is no such job
        throw new dev.zlayer.error.AgentException.NotFound(
            "execution of '" + job + "'", "'zlayer job run " + job + "' starts one");
      }
      return newest.getFirst();
    }
  }
}
