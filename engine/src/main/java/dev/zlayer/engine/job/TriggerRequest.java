package dev.zlayer.engine.job;

import dev.zlayer.engine.state.Change;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Asks for an execution.
 *
 * @param given its id and number, where a cluster has chosen them; asked for once more, it is the
 *     same execution
 * @param priority instead of the job's, also for the jobs it needs: they would hold it up
 * @param follows executions that must have ended before, however they end
 * @param alongside what it gives for the execution becomes durable together with it, or not at all
 */
public record TriggerRequest(
    JobKey job,
    Trigger trigger,
    Optional<Given> given,
    Overrides overrides,
    Optional<Integer> priority,
    List<ExecutionId> follows,
    Function<Execution, Change> alongside) {
  private static final Change NOTHING = new Change(List.of(), List.of());

  /** The identity of an execution, which others know already. */
  public record Given(ExecutionId id, long number) {}

  public TriggerRequest {
    follows = List.copyOf(follows);
  }

  public static TriggerRequest of(JobKey job, Trigger trigger) {
    return new TriggerRequest(
        job, trigger, Optional.empty(), Overrides.NONE, Optional.empty(), List.of(), _ -> NOTHING);
  }

  public TriggerRequest as(Given given) {
    return new TriggerRequest(
        job, trigger, Optional.of(given), overrides, priority, follows, alongside);
  }

  public TriggerRequest with(Overrides overrides) {
    return new TriggerRequest(job, trigger, given, overrides, priority, follows, alongside);
  }

  public TriggerRequest withPriority(Optional<Integer> priority) {
    return new TriggerRequest(job, trigger, given, overrides, priority, follows, alongside);
  }

  public TriggerRequest following(List<ExecutionId> follows) {
    return new TriggerRequest(job, trigger, given, overrides, priority, follows, alongside);
  }

  public TriggerRequest alongside(Change alongside) {
    return alongside(_ -> alongside);
  }

  public TriggerRequest alongside(Function<Execution, Change> alongside) {
    return new TriggerRequest(job, trigger, given, overrides, priority, follows, alongside);
  }
}
