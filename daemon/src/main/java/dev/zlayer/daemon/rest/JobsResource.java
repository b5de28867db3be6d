package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.view.ExecutionView;
import dev.zlayer.engine.cron.CronScheduler;
import dev.zlayer.engine.cron.CronStatus;
import dev.zlayer.engine.cron.UpcomingRuns;
import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.JobDefinition;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.job.Overrides;
import dev.zlayer.engine.job.Trigger;
import dev.zlayer.engine.job.TriggerRequest;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.json.Json;
import dev.zlayer.schedule.CronExpression;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneId;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** Jobs and schedules. */
public final class JobsResource implements Resource {
  private static final String YAML = "application/yaml";
  private static final String COMMAND_LINE = "zlayer-cli";

  private static final Duration USUAL_AHEAD = Duration.ofDays(7);
  private static final Duration FURTHEST_AHEAD = Duration.ofDays(366);
  private static final int MOST_AHEAD = 100;

  private final InstantSource clock;
  private final JobExecutor jobs;
  private final CronScheduler cron;
  private final Supplier<List<JobDefinition>> definitions;

  /** Runs a job. */
  @Doc("What one execution wants otherwise than the job says.")
  public record Run(
      @Doc("Arguments instead of the job's.") Optional<List<String>> args,
      @Doc("Variables over the job's.") Map<String, String> env,
      @Doc("How long it may take in all.") Optional<Duration> deadline,
      @Doc("Its place in the queue instead of the job's: higher numbers leave it first.")
          @Range(min = -1000, max = 1000)
          Optional<Integer> priority) {
    /** Everything as the job says. */
    public static final Run NOTHING =
        new Run(Optional.empty(), Map.of(), Optional.empty(), Optional.empty());
  }

  /** What was begun. */
  record Begun(ExecutionId id, String name) {}

  /**
   * A job or a schedule as it is defined, with its newest execution.
   *
   * @param live executions that have not ended
   * @param cron how its schedule stands, if it has one
   */
  record JobView(
      JobKey job,
      String deployment,
      String name,
      String type,
      String image,
      Optional<String> schedule,
      List<String> needs,
      int concurrency,
      int live,
      Optional<CronStatus> cron,
      Optional<ExecutionView> last) {}

  /** A run that is due. */
  record UpcomingView(
      JobKey job,
      Instant due,
      @Doc("The same time as clocks of its zone show it.") String local,
      ZoneId zone,
      @Doc("Why it is at this time, where clocks are changed.") Optional<String> note) {
    static UpcomingView of(UpcomingRuns.Run run) {
      return new UpcomingView(
          run.job(), run.due(), run.local().toLocalDateTime().toString(), run.zone(), run.note());
    }
  }

  public JobsResource(
      JobExecutor jobs,
      CronScheduler cron,
      Supplier<List<JobDefinition>> definitions,
      InstantSource clock) {
    this.clock = clock;
    this.jobs = jobs;
    this.cron = cron;
    this.definitions = definitions;
  }

  @Override
  public String title() {
    return "Jobs and schedules";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view("/jobs", "List jobs and schedules.", this::list)
            .with("deployment", "Only this deployment; - for jobs without one.")
            .givesMany(JobView.class),
        Route.view(
                "/jobs/{deployment}/{job}",
                "Show a job; - for one without a deployment.",
                this::show)
            .gives(JobView.class),
        Route.put(
                "/jobs/-/{job}", "Register a job without a deployment; idempotent.", this::register)
            .with(
                "directory",
                "Absolute directory that relative paths of the file are resolved against.")
            .takes(YAML, "The keys of a job, or a deployment file that has it.")
            .gives(JobView.class)
            .creates(JobView.class),
        Route.delete(
                "/jobs/-/{job}",
                "Unregister a job without a deployment; its results are kept by retention.",
                this::unregister)
            .freeing()
            .givesNothing(),
        Route.post("/jobs/{deployment}/{job}/executions", "Run a job.", this::run)
            .repeatableByKey()
            .takes(Run.class)
            .creates(Begun.class),
        Route.view("/cron", "List schedules.", this::schedules)
            .with("deployment", "Only this deployment.")
            .givesMany(CronStatus.class),
        Route.view(
                "/cron/upcoming",
                "List the next runs of schedules, earliest first, at most 100 of each.",
                this::upcoming)
            .with("deployment", "Only this deployment.")
            .with("within", "How far ahead, at most 366d (default: 7d).")
            .givesMany(UpcomingView.class),
        Route.post(
                "/cron/{deployment}/{job}/run",
                "Trigger a run now, independent of the schedule.",
                this::now)
            .creates(Begun.class),
        Route.post("/cron/{deployment}/{job}/enable", "Enable a schedule.", this::enable)
            .givesNothing(),
        Route.post("/cron/{deployment}/{job}/disable", "Disable a schedule.", this::disable)
            .givesNothing());
  }

  private ApiResponse list(ApiRequest call) {
    Optional<String> deployment = call.query("deployment");
    return ApiResponse.json(
        ViewJson.of(
            definitions.get().stream()
                .filter(job -> deployment.map(job.key().deployment()::equals).orElse(true))
                .sorted(Comparator.comparing(JobDefinition::key))
                .map(this::view)
                .toList()));
  }

  private ApiResponse show(ApiRequest call) {
    return ApiResponse.json(ViewJson.of(view(definition(key(call)))));
  }

  private JobDefinition definition(JobKey key) {
    return definitions.get().stream()
        .filter(job -> job.key().equals(key))
        .findFirst()
        .orElseThrow(key::notFound);
  }

  private JobView view(JobDefinition job) {
    List<Execution> executions = jobs.list(job.key());
    return new JobView(
        job.key(),
        job.key().deployment(),
        job.key().name(),
        job.service().rtype().name().toLowerCase(Locale.ROOT),
        job.service().image().name().familiar(),
        job.service().schedule().map(CronExpression::toString),
        job.job().needs(),
        job.job().concurrency(),
        (int) executions.stream().filter(one -> !one.status().finished()).count(),
        cron.find(job.key()),
        executions.isEmpty()
            ? Optional.empty()
            : Optional.of(ExecutionView.of(executions.getLast())));
  }

  private ApiResponse register(ApiRequest call) {
    Path directory = Path.of(call.query("directory").orElse("/"));
    if (!directory.isAbsolute()) {
      throw new AgentException.InvalidSpec("the parameter 'directory' is not an absolute path");
    }
    boolean known = jobs.register(call.path("job"), call.wholeBody(), directory);
    return ApiResponse.json(
        known ? 200 : 201, ViewJson.of(view(definition(JobKey.single(call.path("job"))))));
  }

  private ApiResponse unregister(ApiRequest call) {
    jobs.unregister(call.path("job"));
    return ApiResponse.done();
  }

  private ApiResponse run(ApiRequest call) {
    Run wanted = call.body(Run.class);
    var request =
        TriggerRequest.of(key(call), by(call))
            .with(new Overrides(wanted.args(), wanted.env(), wanted.deadline()))
            .withPriority(wanted.priority());
    TriggerRequest recorded =
        call.repetition()
            .map(
                repetition ->
                    request.alongside(
                        execution ->
                            repetition
                                .answered()
                                .apply(created(new Begun(execution.id(), execution.name())))))
            .orElse(request);
    return created(begun(jobs.trigger(recorded)));
  }

  private static ApiResponse created(Begun begun) {
    return ApiResponse.json(201, ViewJson.of(begun));
  }

  private ApiResponse schedules(ApiRequest call) {
    Optional<String> deployment = call.query("deployment");
    return ApiResponse.json(
        ViewJson.of(
            cron.list().stream()
                .filter(entry -> deployment.map(entry.job().deployment()::equals).orElse(true))
                .toList()));
  }

  private ApiResponse upcoming(ApiRequest call) {
    Optional<String> deployment = call.query("deployment");
    List<CronStatus> schedules =
        cron.list().stream()
            .filter(entry -> deployment.map(entry.job().deployment()::equals).orElse(true))
            .toList();
    return ApiResponse.json(new Json.Arr(upcoming(call, schedules, clock.instant())));
  }

  /** The next runs of these schedules, as far ahead as the caller asks for. */
  public static List<Json> upcoming(ApiRequest call, List<CronStatus> schedules, Instant now) {
    Duration within = call.query("within").map(Durations::parse).orElse(USUAL_AHEAD);
    if (!within.isPositive() || within.compareTo(FURTHEST_AHEAD) > 0) {
      throw new AgentException.InvalidSpec("within is more than nothing and at most 366d");
    }
    return UpcomingRuns.of(schedules, now.plus(within), MOST_AHEAD).stream()
        .map(UpcomingView::of)
        .map(ViewJson::of)
        .toList();
  }

  private ApiResponse now(ApiRequest call) {
    return ApiResponse.json(201, ViewJson.of(begun(cron.runNow(key(call), by(call)))));
  }

  private Begun begun(ExecutionId id) {
    return new Begun(id, jobs.execution(id).name());
  }

  private ApiResponse enable(ApiRequest call) {
    cron.enable(key(call));
    return ApiResponse.done();
  }

  private ApiResponse disable(ApiRequest call) {
    cron.disable(key(call));
    return ApiResponse.done();
  }

  /** Our own command line says so; everybody else is a program. */
  public static Trigger by(ApiRequest call) {
    return call.header("User-Agent").filter(COMMAND_LINE::equals).isPresent()
        ? new Trigger.Cli()
        : new Trigger.Endpoint(call.remote());
  }

  private static JobKey key(ApiRequest call) {
    return new JobKey(call.path("deployment"), call.path("job"));
  }
}
