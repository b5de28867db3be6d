package dev.zlayer.engine.job;

import dev.zlayer.container.Claim;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.engine.init.Initializer;
import dev.zlayer.engine.init.StartPhase;
import dev.zlayer.engine.init.StepReport;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.Preparable;
import dev.zlayer.port.PullRequest;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.LazyLogger;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Carries out one attempt on a thread of its own: makes the container, starts it, waits for its
 * end, keeps what it left, reports, removes it. Every step can be done again by a later process of
 * the agent: before {@link RunCallbacks#ready} nothing has run, after it the container itself
 * tells.
 */
final class JobRun {
  /** Names the execution on its containers. */
  static final String EXECUTION = "com.zlayer.execution";

  static final String ATTEMPT = "com.zlayer.attempt";

  /** What people call the execution, on containers that were made before it was known. */
  static final String NAME = "com.zlayer.name";

  private static final Backoff RETRY_BACKOFF =
      new Backoff(Duration.ofMillis(50), Duration.ofSeconds(10), 2);
  private static final Backoff UPLOADS =
      new Backoff(Duration.ofSeconds(1), Duration.ofMinutes(1), 2);
  private static final int REMOVALS = 5;

  /** How often a runtime is asked about a container whose process never ran; some minutes. */
  private static final int QUESTIONS = 25;

  private static final System.Logger LOG = LazyLogger.of(JobRun.class);

  /** The loop, as a run sees it. */
  interface RunCallbacks {
    /**
     * Blocks until it is durable that the process is about to start, and in which container made
     * ahead if in one; false: do not start it.
     */
    boolean ready(ExecutionId id, int attempt, Optional<Long> prepared) throws InterruptedException;

    /** Blocks until it is durable that nothing ran in the container it was given. */
    void withdrawn(ExecutionId id, int attempt) throws InterruptedException;

    /** Blocks until it is durable that the process ended and its files are to be uploaded. */
    void uploading(ExecutionId id, int attempt, ExitStatus exit) throws InterruptedException;

    void step(ExecutionId id, int attempt, StepReport report);

    /** Blocks until the end is durable, interrupted or not; throws when the loop is closing. */
    void ended(ExecutionId id, int attempt, AttemptEnd end);

    /** The agent ends: everything is to be left as it is. */
    boolean closing();
  }

  private final JobParts parts;
  private final RunCallbacks callbacks;
  private final ResultCollector collector;
  private final Execution execution;
  private final Optional<JobDefinition> definition;
  private final int attempt;
  private final WarmSupply ahead;
  private ContainerId container;
  private Optional<Long> prepared = Optional.empty();
  private boolean began;
  private boolean asked;
  private volatile JobEffect.@Nullable Why halt;
  private boolean collecting;

  private final StartPhase phase = new StartPhase();

  JobRun(
      JobParts parts,
      RunCallbacks callbacks,
      ResultCollector collector,
      WarmSupply ahead,
      Execution execution,
      boolean given,
      Optional<JobDefinition> definition) {
    this.parts = parts;
    this.callbacks = callbacks;
    this.collector = collector;
    this.ahead = ahead;
    this.execution = execution;
    this.definition = definition;
    this.attempt = execution.attempt().number();
    this.container = execution.container(attempt);
    this.began =
        execution.status() instanceof ExecutionStatus.Running
            || execution.status() instanceof ExecutionStatus.Uploading;
    if (given) {
      this.prepared = execution.attempt().prepared();
      this.asked = true;
    }
    if (execution.cancelRequested()) {
      halt = JobEffect.Why.CANCELLED;
    } else if (execution.timedOut()) {
      halt = JobEffect.Why.DEADLINE;
    }
  }

  int attempt() {
    return attempt;
  }

  /** Makes the run end its container; the thread has to be interrupted afterwards. */
  void halt(JobEffect.Why why) {
    halt = why;
  }

  void run() {
    try {
      callbacks.ended(execution.id(), attempt, end());
      boolean _ = Thread.interrupted();
      // what cannot be removed now is tried again when the loop tidies
      remove(container);
    } catch (InterruptedException _) {
      // the agent ends: the container goes on, and the next process of the agent with it
    } finally {
      begun();
      prepared.ifPresent(ahead::left);
    }
  }

  /** Whatever else goes wrong with a run is its end: nobody may wait for it for ever. */
  private AttemptEnd end() throws InterruptedException {
    try {
      return halt == null ? carryOut() : endForcibly();
    } catch (RuntimeException | Error e) {
      LOG.log(System.Logger.Level.ERROR, "a fault in the run " + execution.id(), e);
      return AttemptEnd.failed(new AgentException.Internal("a run failed: " + e, e));
    }
  }

  private AttemptEnd carryOut() throws InterruptedException {
    try {
      Container made = begin();
      Outcome outcome = awaitEnd(made);
      upload(made, outcome.status());
      collecting = true;
      return collector.of(execution, definition, made, Optional.of(outcome));
    } catch (InterruptedException _) {
      return endForcibly();
    } catch (AgentException e) {
      return halt == null ? during(failed(e)) : endForcibly();
    } catch (RuntimeException e) {
      return failed(new AgentException.Internal("a run failed: " + e, e));
    }
  }

  /** Returns when the process runs. */
  private Container begin() throws InterruptedException {
    try {
      Optional<Container> given = asked ? given() : Optional.empty();
      Container made = given.isPresent() ? given.get() : began ? found() : prepare();
      if (made.status() instanceof ContainerStatus.Created
          || made.status() instanceof ContainerStatus.Prepared) {
        phase.enter("start");
        made.start();
      }
      phase.leave();
      return made;
    } finally {
      begun();
    }
  }

  /** Others may be made ahead again; also when this run was halted before it began. */
  private void begun() {
    if (asked) {
      asked = false;
      ahead.started();
    }
  }

  private AttemptEnd during(AttemptEnd end) {
    return phase.now().map(end::during).orElse(end);
  }

  /**
   * Tries until it is done or somebody cancels the execution: what the process wrote exists only in
   * its container, and its result is known whatever the store says.
   */
  private void upload(Container ended, ExitStatus exit) throws InterruptedException {
    if (!parts.initializer().delivers(ended)) {
      return;
    }
    if (!(execution.status() instanceof ExecutionStatus.Uploading)) {
      callbacks.uploading(execution.id(), attempt, exit);
    }
    for (int tries = 0; ; tries++) {
      try {
        parts.initializer().deliver(ended, this::tell);
        return;
      } catch (AgentException _) {
        // the observer was told why; the store or its keys may be right at the next try
      }
      parts.pauses().pause(UPLOADS.delay(tries));
    }
  }

  /** A runtime that cannot tell at the moment is asked again: the job may still be running. */
  private Outcome awaitEnd(Container made) throws InterruptedException {
    for (int tries = 0; ; tries++) {
      try {
        Outcome outcome = made.await(WaitCondition.NOT_RUNNING, Deadline.none());
        if (!(made.status() instanceof ContainerStatus.Unknown)) {
          return outcome;
        }
      } catch (AgentException.NotFound e) {
        throw e;
      } catch (AgentException _) {
        // asked again below
      }
      parts.pauses().pause(RETRY_BACKOFF.delay(tries));
    }
  }

  /** The container that an earlier process of the agent was about to start. */
  private Container found() {
    Container made =
        parts
            .runtime()
            .find(container)
            .orElseThrow(
                () ->
                    new AgentException.NotFound(
                        "container '" + container + "'", "it was removed while it was running"));
    if (container.prepared() && made instanceof Preparable preparable) {
      preparable.label(ownLabels());
    }
    return made;
  }

  /** The container that it was given when it was triggered, unless that changed since. */
  private Optional<Container> given() throws InterruptedException {
    Optional<Container> made = parts.runtime().find(container).filter(this::claimed);
    if (made.isEmpty()) {
      callbacks.withdrawn(execution.id(), attempt);
      began = false;
      container =
          ContainerId.ofExecution(
              execution.job().deployment(), execution.job().name(), execution.number(), attempt);
      prepared.ifPresent(ahead::spoilt);
      prepared = Optional.empty();
      begun();
    }
    return made;
  }

  private Container prepare() throws InterruptedException {
    JobDefinition job =
        definition.orElseThrow(
            () -> new AgentException.NotFound("job '" + execution.job() + "'", "it was removed"));
    ContainerSpec spec = parts.containers().spec(job, execution.overrides());
    ServiceSpec service = job.service();
    removeLeftovers(service.lifecycle().init().steps().size());
    phase.enter("image pull");
    ImageInfo image =
        parts
            .runtime()
            .images()
            .pull(
                new PullRequest(
                    spec.image(), service.image().pullPolicy(), spec.platform(), Optional.empty()),
                _ -> {});
    if (!service.lifecycle().init().steps().isEmpty()) {
      phase.enter("init");
      parts
          .initializer()
          .run(
              new Initializer.Request(
                  container,
                  labelled(spec),
                  service.lifecycle().init(),
                  service.lifecycle().errors().onInitFailure()),
              report -> {
                phase.enterStep(service.lifecycle().init(), report);
                tell(report);
              });
    }
    phase.enter("create");
    Optional<Container> ready =
        ahead.offers(job)
            ? take(new WarmPlanner.Shape(spec, Optional.of(image.digest())))
            : Optional.empty();
    Container made =
        ready.isPresent() ? ready.get() : parts.runtime().create(container, labelled(spec));
    phase.leave();
    if (ready.isEmpty()) {
      parts.initializer().fetch(made, this::tell);
    }
    if (!callbacks.ready(execution.id(), attempt, prepared)) {
      throw new InterruptedException("halted before the start");
    }
    return made;
  }

  /** A container that was made ahead and is what this execution wants; it is this run's now. */
  private Optional<Container> take(WarmPlanner.Shape shape) throws InterruptedException {
    ahead.await(WarmTarget.of(execution), shape);
    asked = true;
    Optional<WarmContainers.Taken> taken = ahead.take(WarmTarget.of(execution), shape);
    if (taken.isEmpty()) {
      return Optional.empty();
    }
    boolean usable = false;
    try {
      usable = claimed(taken.get().container());
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, "a container made ahead cannot be used", e);
    }
    if (!usable) {
      ahead.spoilt(taken.get().number());
      return Optional.empty();
    }
    container = taken.get().container().id();
    prepared = Optional.of(taken.get().number());
    return Optional.of(taken.get().container());
  }

  private boolean claimed(Container made) {
    return made instanceof Preparable preparable && preparable.claim(ownLabels());
  }

  /** On a container that was made before the execution was known. */
  private Map<String, String> ownLabels() {
    Map<String, String> labels = new HashMap<>(labels());
    labels.put(NAME, execution.name());
    return labels;
  }

  private void tell(StepReport report) {
    callbacks.step(execution.id(), attempt, report);
  }

  /** What an earlier process of the agent made for this attempt; none of it counts yet. */
  private void removeLeftovers(int steps) throws InterruptedException {
    remove(container);
    for (int step = 0; step < steps; step++) {
      remove(Initializer.helper(container, step));
    }
  }

  private ContainerSpec labelled(ContainerSpec spec) {
    var labels = new HashMap<>(spec.labels());
    labels.putAll(labels());
    return spec.withLabels(labels);
  }

  private Map<String, String> labels() {
    var labels = new HashMap<String, String>();
    labels.put(EXECUTION, execution.id().text());
    labels.put(ATTEMPT, Integer.toString(attempt));
    if (definition.filter(JobDefinition::claimed).isPresent()) {
      labels.put(Claim.LABEL, Claim.of(execution.job().deployment(), execution.job().name()));
    }
    return labels;
  }

  /** Ends what runs, however long it takes: nothing may be reported ended that is not. */
  private AttemptEnd endForcibly() throws InterruptedException {
    boolean _ = Thread.interrupted();
    for (int tries = 0; ; tries++) {
      requireWanted();
      try {
        Optional<Container> made = parts.runtime().find(container);
        if (made.isEmpty()) {
          return AttemptEnd.neverRan();
        }
        Duration grace =
            halt == JobEffect.Why.CANCELLED ? made.get().spec().stop().grace() : Duration.ZERO;
        Optional<Outcome> outcome = made.get().stop(grace);
        return collecting
            ? collector.withoutArtifacts(execution, definition, made.get(), outcome)
            : collector.of(execution, definition, made.get(), outcome);
      } catch (AgentException.NotFound _) {
        return AttemptEnd.neverRan();
      } catch (RuntimeException _) {
        parts.pauses().pause(RETRY_BACKOFF.delay(tries));
      }
    }
  }

  /** An interrupt without a reason to halt means that the agent ends. */
  private void requireWanted() throws InterruptedException {
    if (callbacks.closing() || halt == null) {
      throw new InterruptedException("the agent ends");
    }
  }

  /** Ends what was made before it failed; a runtime that does not answer now is asked again. */
  private AttemptEnd failed(AgentException error) throws InterruptedException {
    boolean running = began;
    for (int tries = 0; ; tries++) {
      if (callbacks.closing()) {
        throw new InterruptedException("the agent ends");
      }
      try {
        Optional<Container> made = parts.runtime().find(container);
        if (made.isEmpty()) {
          return running ? lost(error) : AttemptEnd.failed(error);
        }
        Optional<Outcome> outcome = made.get().stop(Duration.ZERO);
        return collector.of(execution, definition, made.get(), outcome).with(error);
      } catch (InterruptedException _) {
        requireWanted();
        return endForcibly();
      } catch (AgentException.NotFound _) {
        return running ? lost(error) : AttemptEnd.failed(error);
      } catch (RuntimeException e) {
        if (tries >= QUESTIONS && !running) {
          // it did not start and cannot be inspected; the error says why, tidying removes it
          return AttemptEnd.failed(error);
        }
      }
      try {
        parts.pauses().pause(RETRY_BACKOFF.delay(tries));
      } catch (InterruptedException _) {
        requireWanted();
        return endForcibly();
      }
    }
  }

  private AttemptEnd lost(AgentException error) {
    String reason = String.valueOf(error.getMessage());
    boolean uploading = execution.status() instanceof ExecutionStatus.Uploading;
    ExitStatus exit =
        execution.status() instanceof ExecutionStatus.Uploading(ExitStatus known)
            ? known
            : new ExitStatus.Unknown(reason);
    return new AttemptEnd(
        Optional.of(new Outcome(exit, Optional.empty(), Optional.empty())),
        Optional.empty(),
        Optional.empty(),
        new byte[0],
        Attempt.Output.NONE,
        List.of(),
        uploading ? List.of("files were not uploaded: " + reason) : List.of());
  }

  private void remove(ContainerId id) throws InterruptedException {
    for (int tries = 1; ; tries++) {
      try {
        Optional<Container> made = parts.runtime().find(id);
        if (made.isPresent()) {
          made.get().remove(true);
        }
        return;
      } catch (AgentException e) {
        if (tries == REMOVALS) {
          throw e;
        }
        parts.pauses().pause(RETRY_BACKOFF.delay(tries - 1));
      }
    }
  }
}
