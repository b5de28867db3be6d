package dev.zlayer.cli.command.job;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.command.DeploymentFiles;
import dev.zlayer.cli.command.container.Variables;
import dev.zlayer.cli.command.daemon.BackgroundDaemon;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "run",
    description = "Run a job; with --wait, show its output and return its exit code",
    footer = {
      "",
      "Examples:",
      "  zlayer job run shop/report                  prints the execution, as shop/report/12",
      "  zlayer job run --wait shop/report           output, then the job's own exit code",
      "  zlayer job run -e DAY=monday shop/report -- --verbose",
      "  zlayer job run -f report.yml --wait         registers the job 'report', then runs it",
      "",
      "-f takes a file with the keys of one job, or a deployment file of which --job names the",
      "job. The job belongs to no deployment, is called by its bare name and stays until",
      "'zlayer job rm'.",
      "",
      "--wait continues across daemon restarts. ^C stops waiting, not the job. Exits with",
      "the job's exit code, 128 + n if it was killed by signal n (137 at its deadline), 130",
      "if it was cancelled, 3 if it failed before it ran."
    })
public final class JobRunCommand extends AnswerCommand {
  @Option(names = "--wait", description = "Wait for the job to finish")
  private boolean wait;

  @Option(
      names = {"-f", "--file"},
      paramLabel = "FILE",
      description = "Register the job of this file and run it; - reads standard input")
  private @Nullable String file;

  @Option(
      names = "--job",
      paramLabel = "NAME",
      description = "With -f: the job to take, or its name (default: the name of the file)")
  private @Nullable String named;

  @Option(
      names = {"-e", "--env"},
      paramLabel = "NAME=VALUE",
      description = "Set or override an environment variable")
  private List<String> env = List.of();

  @Option(
      names = "--deadline",
      paramLabel = "DURATION",
      description = "Override the job's deadline")
  private @Nullable String deadline;

  @Option(
      names = "--priority",
      paramLabel = "NUMBER",
      description = "Override the job's priority; higher priorities run first")
  private @Nullable Integer priority;

  @Option(
      names = {"-q", "--quiet"},
      description = "Print only the job's output, or only the id")
  private boolean quiet;

  @Parameters(
      index = "0",
      arity = "0..1",
      paramLabel = "JOB",
      description = "deployment/job, or the name of a job without a deployment; absent with -f")
  private @Nullable String job;

  @Parameters(
      index = "1..*",
      paramLabel = "ARG",
      description = "Arguments that replace the job's own")
  private List<String> args = List.of();

  public JobRunCommand(Session session) {
    super(session);
  }

  @Override
  protected boolean streams() {
    return true;
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    JobName name = file == null ? known() : registered(client, file);
    Json created = client.post("/jobs" + name.path() + "/executions", Query.NONE, request());
    String id = created.at("id").string().orElseThrow();
    String execution = created.at("name").string().orElse(id);
    if (!wait) {
      show(created, () -> execution + "\n");
      return 0;
    }
    if (!quiet && !json) {
      tell("execution " + execution);
    }
    var watch = new ExecutionWatch(session, client, reconnecting(client));
    Json ended = watch.toItsEnd(id, json);
    if (json) {
      session.out().print(JsonText.pretty(ended));
    } else if (!quiet) {
      tell(name + ": " + ExecutionWatch.text(ended));
    }
    return ExecutionWatch.exitCode(ended);
  }

  private JobName known() {
    if (named != null) {
      throw new AgentException.InvalidSpec("--job names a job of a file; add -f FILE");
    }
    if (job == null) {
      throw new AgentException.InvalidSpec("name a job, or a file with -f");
    }
    return JobName.parse(job);
  }

  /** All words are arguments of the job, since its name is known. */
  private JobName registered(DaemonClient client, String file) throws InterruptedException {
    if (job != null) {
      args = Stream.concat(Stream.of(job), args.stream()).toList();
    }
    var loaded = DeploymentFiles.loadJob(session, file, Optional.ofNullable(named));
    BackgroundDaemon.of(session).ensure(client, this::tell);
    JobName name = JobName.single(loaded.name());
    Json _ =
        client.send(
            "PUT",
            "/jobs" + name.path(),
            Query.of("directory", loaded.directory()),
            DaemonClient.YAML,
            loaded.content());
    return name;
  }

  private Json request() {
    Map<String, String> variables = Variables.parse(session, env);
    return Json.object()
        .putIf("args", Optional.of(args).filter(list -> !list.isEmpty()))
        .putIf("env", Optional.of(variables).filter(map -> !map.isEmpty()))
        .putIf(
            "deadline",
            Optional.ofNullable(deadline).map(text -> Durations.print(Durations.parse(text))))
        .putIf("priority", Optional.ofNullable(priority))
        .build();
  }
}
