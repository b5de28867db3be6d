package dev.zlayer.engine.init;

import dev.zlayer.engine.translate.EnvResolver;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.spec.job.BackoffSpec;
import dev.zlayer.spec.service.ErrorsSpec;
import dev.zlayer.spec.service.InitStep;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import javax.net.ssl.SSLContext;

/**
 * Runs init steps one after the other, tries them again as they say, and makes further passes as
 * the policy says; a pass always begins with the first step. A step that asks for something that is
 * not allowed or does not exist is never tried again; whether that matters is for the step to say.
 */
public final class InitRunner implements Initializer {
  /** What is kept of a step's output; it becomes part of an event. */
  private static final int KEPT_LOG = 64 << 10;

  private static final Duration BETWEEN_PASSES = Duration.ofMillis(100);
  private static final Backoff BETWEEN_TRIES =
      new Backoff(Duration.ofMillis(500), Duration.ofSeconds(30), 2);

  private final InitActions actions;
  private final BucketCopies copies;
  private final UnaryOperator<String> hiding;
  private final InstantSource clock;
  private final Pauses pauses;

  /**
   * @param names of services of a deployment, which the host's resolver does not know
   * @param hiding removes secrets from what steps print and from why they fail
   * @param tls asked for by the first step that needs it: reading all trusted certificates takes
   *     time and memory
   */
  public InitRunner(
      ContainerRuntime runtime,
      EnvResolver resolver,
      InitConfig config,
      Supplier<SSLContext> tls,
      DeploymentNames names,
      UnaryOperator<String> hiding,
      InstantSource clock,
      Pauses pauses) {
    this.actions = new InitActions(runtime, resolver, config, tls, names, pauses);
    this.copies = new BucketCopies(resolver, clock, pauses);
    this.hiding = hiding;
    this.clock = clock;
    this.pauses = pauses;
  }

  @Override
  public void run(Request request, InitObserver observer) throws InterruptedException {
    int passes =
        request.onFailure().action() == ErrorsSpec.InitFailureAction.FAIL
            ? 1
            : 1 + request.onFailure().retries();
    for (int pass = 1; ; pass++) {
      try {
        pass(request, pass, observer);
        return;
      } catch (AgentException e) {
        if (pass == passes || e.blame() == Blame.REQUEST) {
          throw e;
        }
      }
      pauses.pause(pause(request.onFailure(), pass));
    }
  }

  @Override
  public void fetch(Container made, InitObserver observer) throws InterruptedException {
    copies.pull(made, observer);
  }

  @Override
  public boolean delivers(Container ended) {
    return BucketCopies.pushes(ended);
  }

  @Override
  public void deliver(Container ended, InitObserver observer) throws InterruptedException {
    copies.push(ended, observer);
  }

  private static Duration pause(ErrorsSpec.InitFailure policy, int pass) {
    if (policy.action() != ErrorsSpec.InitFailureAction.BACKOFF) {
      return BETWEEN_PASSES;
    }
    BackoffSpec spec = policy.backoff();
    Duration max = spec.max().compareTo(spec.initial()) < 0 ? spec.initial() : spec.max();
    return new Backoff(spec.initial(), max, Math.max(1, spec.factor())).delay(pass - 1);
  }

  private void pass(Request request, int pass, InitObserver observer) throws InterruptedException {
    for (int index = 0; index < request.init().steps().size(); index++) {
      for (int attempt = 1; !succeeds(request, index, pass, attempt, observer); attempt++) {
        pauses.pause(BETWEEN_TRIES.delay(attempt - 1));
      }
    }
  }

  /** False: it failed and is to be tried again; throws when it failed for good and matters. */
  private boolean succeeds(Request request, int index, int pass, int attempt, InitObserver observer)
      throws InterruptedException {
    InitStep step = request.init().steps().get(index);
    StepReport report = StepReport.begun(step.id(), pass, attempt, clock.instant());
    observer.report(report);
    Deadline deadline = Deadline.after(step.timeout());
    try {
      String log = actions.of(request, index).perform(deadline);
      observer.report(
          report.ended(StepReport.Result.SUCCEEDED, clock.instant(), Optional.empty(), kept(log)));
      return true;
    } catch (AgentException | ActionFailed e) {
      boolean late = deadline.passed() || e instanceof AgentException.Timeout;
      // what is wrong stays wrong: it is not tried again
      boolean wrong = e instanceof AgentException ours && ours.blame() == Blame.REQUEST;
      boolean last = wrong || attempt > step.retry();
      boolean ignored = last && step.onFailure() == InitStep.OnFailure.CONTINUE;
      observer.report(
          report.ended(
              ignored
                  ? StepReport.Result.IGNORED
                  : late ? StepReport.Result.TIMED_OUT : StepReport.Result.FAILED,
              clock.instant(),
              Optional.of(hiding.apply(ActionFailed.reason(e))),
              e instanceof ActionFailed failed ? kept(failed.log()) : Optional.empty()));
      boolean tolerated = last && step.onFailure() != InitStep.OnFailure.FAIL;
      if (last && !tolerated) {
        throw wrong
            ? (AgentException) e
            : late ? tooLate(request, step, e) : failed(request, step, e);
      }
      return tolerated;
    }
  }

  private static AgentException tooLate(Request request, InitStep step, RuntimeException e) {
    Duration limit = e instanceof AgentException.Timeout own ? own.limit() : step.timeout();
    return new AgentException.Timeout(
        "running init step '%s' of '%s'".formatted(step.id(), request.owner()), limit);
  }

  private AgentException failed(Request request, InitStep step, RuntimeException e) {
    return new AgentException.InitActionFailed(
        request.owner().toString(),
        "step '%s': %s".formatted(step.id(), hiding.apply(ActionFailed.reason(e))),
        e instanceof AgentException ? null : e);
  }

  private Optional<String> kept(String log) {
    String hidden = hiding.apply(log);
    return log.isEmpty()
        ? Optional.empty()
        : Optional.of(hidden.substring(Math.max(0, hidden.length() - KEPT_LOG)));
  }
}
