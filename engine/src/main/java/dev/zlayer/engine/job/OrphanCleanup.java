package dev.zlayer.engine.job;

import dev.zlayer.container.ContainerId;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Removes containers of executions that have ended, are not known any more, or are at a later
 * attempt: what a kill between "recorded" and "removed" left, and what could not be removed then.
 * Those of an execution whose record cannot be read stay. So go those that an earlier process of
 * the agent made ahead, whose owner knows only its own.
 */
final class OrphanCleanup {
  private OrphanCleanup() {}

  static void remove(
      ContainerRuntime runtime,
      Function<ExecutionId, Optional<Execution>> executions,
      Predicate<ExecutionId> unreadable,
      Predicate<ContainerId> ahead) {
    for (Container container : runtime.list()) {
      if (container.id().prepared()) {
        if (!ahead.test(container.id()) && !remove(container)) {
          return;
        }
        continue;
      }
      String execution = container.spec().labels().get(JobRun.EXECUTION);
      String attempt = container.spec().labels().get(JobRun.ATTEMPT);
      if (execution == null || attempt == null) {
        continue;
      }
      // containers are made after their execution is recorded, so one that is not known is no news
      var id = new ExecutionId(execution);
      Optional<Execution> owner = executions.apply(id);
      if (!unreadable.test(id)
          && owner.filter(found -> needs(found, attempt)).isEmpty()
          && !remove(container)) {
        return;
      }
    }
  }

  /** False when the agent ends. */
  private static boolean remove(Container container) {
    try {
      container.remove(true);
    } catch (AgentException _) {
      // the next round tries again
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return false;
    }
    return true;
  }

  private static boolean needs(Execution owner, String attempt) {
    return owner.status().active() && Integer.toString(owner.attempt().number()).equals(attempt);
  }
}
