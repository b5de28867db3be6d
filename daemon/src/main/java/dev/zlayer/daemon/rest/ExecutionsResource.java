package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Paging;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.view.ExecutionView;
import dev.zlayer.engine.job.Attempt;
import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.job.Trigger;
import dev.zlayer.engine.job.TriggerRequest;
import dev.zlayer.engine.secret.Redaction;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Runs of jobs. */
public final class ExecutionsResource implements Resource {
  private static final int USUAL_LIMIT = 100;

  private final JobExecutor jobs;
  private final Supplier<Redaction> redaction;
  private final InstantSource clock;
  private final ExecutionStream follow;

  /** One that waits, and how many get their turn before it. */
  record Waiting(int position, ExecutionView execution) {}

  public ExecutionsResource(JobExecutor jobs, Supplier<Redaction> redaction, InstantSource clock) {
    this.jobs = jobs;
    this.redaction = redaction;
    this.clock = clock;
    this.follow = new ExecutionStream(jobs, redaction);
  }

  @Override
  public String title() {
    return "Executions of jobs";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view("/executions", "List executions, the newest first.", this::list)
            .with("deployment", "Only this deployment.")
            .with("job", "Only this job, as deployment/job.")
            .with("status", "Only this status.")
            .withNumber("limit", "Maximum number of items (default: 100).")
            .withNumber("offset", "Number of newest items to skip.")
            .givesMany(ExecutionView.class),
        Route.view("/executions/{id}", "Show an execution.", this::show).gives(ExecutionView.class),
        Route.view("/executions/{id}/wait", "Wait until it exits.", this::await)
            .with("timeout", "Time to wait (default: no limit).")
            .gives(ExecutionView.class),
        LogResponse.parameters(
            Route.view("/executions/{id}/logs", "Show its output.", this::logs)
                .withNumber("attempt", "Attempt, counted from 1 (default: the last).")),
        ExecutionStream.parameters(
            Route.view(
                "/executions/{id}/follow",
                "Follow the output of all its attempts, and how it ends.",
                call -> follow.answer(id(call), call, clock.instant()))),
        Route.post(
                "/executions/{id}/cancel",
                "Cancel an execution; no effect if it has ended.",
                this::cancel)
            .freeing()
            .gives(ExecutionView.class),
        Route.post(
                "/executions/{id}/retry",
                "Run its job again with the same arguments, variables, deadline and priority.",
                this::retry)
            .creates(ExecutionView.class),
        Route.view("/executions/{id}/artifacts", "List its artifacts.", this::artifacts)
            .withNumber("attempt", "Attempt (default: the last).")
            .givesMany(ExecutionView.ArtifactView.class),
        Route.get("/executions/{id}/artifacts/{path*}", "Download an artifact.", this::artifact)
            .withNumber("attempt", "Attempt (default: the last).")
            .givesType(ApiRequest.TAR, "The file or directory."),
        Route.view("/queue", "List queued executions in order.", this::queue)
            .with("deployment", "Only this deployment; positions count all.")
            .givesMany(Waiting.class));
  }

  /** What the caller asks for, the newest first. */
  public static List<Execution> fitting(JobExecutor jobs, ApiRequest call) {
    Optional<String> job = call.query("job");
    Optional<String> status = call.query("status");
    Optional<String> deployment = call.query("deployment");
    return jobs.list().reversed().stream()
        .filter(one -> deployment.map(one.job().deployment()::equals).orElse(true))
        .filter(one -> job.map(one.job().toString()::equals).orElse(true))
        .filter(one -> status.map(one.status().word()::equals).orElse(true))
        .toList();
  }

  private ApiResponse list(ApiRequest call) {
    List<Execution> newest = fitting(jobs, call);
    Stream<Execution> part =
        newest.stream()
            .skip(call.number("offset").orElse(0))
            .limit(call.number("limit").orElse(USUAL_LIMIT));
    return new ApiResponse.Whole(
        200,
        ApiRequest.JSON,
        JsonText.bytes(ViewJson.of(part.map(ExecutionView::of).toList())),
        Map.of(Paging.TOTAL, Integer.toString(newest.size())));
  }

  private ApiResponse show(ApiRequest call) {
    return view(jobs.execution(id(call)));
  }

  private static ApiResponse view(Execution execution) {
    return ApiResponse.json(ViewJson.of(ExecutionView.of(execution)));
  }

  private ApiResponse await(ApiRequest call) {
    ExecutionId id = id(call);
    Execution _ = jobs.execution(id);
    Deadline deadline = call.duration("timeout").map(Deadline::after).orElse(Deadline.none());
    return new ApiResponse.Later(() -> view(jobs.await(id, deadline)));
  }

  private ApiResponse logs(ApiRequest call) {
    ExecutionId id = id(call);
    Execution execution = jobs.execution(id);
    int attempt = call.number("attempt").orElse(Math.max(1, execution.attempts().size()));
    return LogResponse.answer(
        call, redaction, () -> jobs.output(id, attempt, LogResponse.query(call, clock.instant())));
  }

  private ApiResponse cancel(ApiRequest call) {
    ExecutionId id = id(call);
    if (jobs.execution(id).status().finished()) {
      return view(jobs.execution(id));
    }
    return view(jobs.cancel(id));
  }

  private ApiResponse retry(ApiRequest call) {
    Execution before = jobs.execution(id(call));
    if (!before.status().finished()) {
      throw new AgentException.Conflict(
          "execution '%s' has not ended; cancel it first or wait for it".formatted(before.name()));
    }
    ExecutionId again =
        jobs.trigger(
            TriggerRequest.of(before.job(), new Trigger.Cli())
                .with(before.overrides())
                .withPriority(Optional.of(before.priority())));
    return ApiResponse.json(201, ViewJson.of(ExecutionView.of(jobs.execution(again))));
  }

  private ApiResponse artifacts(ApiRequest call) {
    return ApiResponse.json(
        ViewJson.of(
            attempt(call).artifacts().stream().map(ExecutionView.ArtifactView::of).toList()));
  }

  private ApiResponse artifact(ApiRequest call) {
    String path = call.path("path");
    Attempt.Artifact wanted =
        attempt(call).artifacts().stream()
            .filter(kept -> same(kept.path(), path))
            .findFirst()
            .orElseThrow(
                () ->
                    new AgentException.NotFound(
                        "artifact " + path, "the execution kept no such path"));
    var stream = jobs.artifact(id(call), wanted);
    return new ApiResponse.Bytes(
        ApiRequest.TAR,
        Map.of("Content-Length", Long.toString(wanted.bytes())),
        ApiResponse.BytesWriter.closing(stream, stream::transferTo));
  }

  private static boolean same(String kept, String asked) {
    return kept.replaceAll("^/+|/+$", "").equals(asked.replaceAll("^/+|/+$", ""));
  }

  private Attempt attempt(ApiRequest call) {
    Execution execution = jobs.execution(id(call));
    int number = call.number("attempt").orElse(execution.attempts().size());
    if (number < 1 || number > execution.attempts().size()) {
      throw new AgentException.NotFound(
          "attempt %d of execution '%s'".formatted(number, execution.id()),
          "it has had %d".formatted(execution.attempts().size()));
    }
    return execution.attempts().get(number - 1);
  }

  private ApiResponse queue(ApiRequest call) {
    Optional<String> deployment = call.query("deployment");
    return ApiResponse.json(
        ViewJson.of(
            jobs.queue().stream()
                .filter(
                    one -> deployment.map(one.execution().job().deployment()::equals).orElse(true))
                .map(one -> new Waiting(one.position(), ExecutionView.of(one.execution())))
                .toList()));
  }

  /** Of an execution that the caller may see; others do not exist for it. */
  private ExecutionId id(ApiRequest call) {
    ExecutionId id = named(call.path("id").replace(':', '/'));
    Optional<String> only = call.deployment();
    if (only.isPresent() && !jobs.execution(id).job().deployment().equals(only.get())) {
      throw new AgentException.NotFound(
          "execution '" + id + "'", "deployment '%s' has none such".formatted(only.get()));
    }
    return id;
  }

  /** By id, or by name: {@code deployment/job/number}, where colons and slashes are the same. */
  private ExecutionId named(String name) {
    if (!name.contains("/")) {
      return ExecutionId.parse(name);
    }
    return jobs.list().stream()
        .filter(execution -> execution.name().equals(name))
        .findFirst()
        .map(Execution::id)
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "execution '" + name + "'", "'zlayer job history' lists those that are kept"));
  }
}
