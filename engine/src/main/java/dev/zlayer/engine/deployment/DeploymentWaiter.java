package dev.zlayer.engine.deployment;

import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Watched;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Waits until a deployment has come to where it was to go.
 *
 * @param changes counts whatever looks different
 */
record DeploymentWaiter(
    StateStore store,
    Watched<Long> changes,
    Function<String, Optional<LiveDeployment>> live,
    Function<LiveDeployment, DeploymentStatus> view) {
  /** See {@link Deployments#awaitStable}. */
  WaitResult awaitStable(
      String name, LiveDeployment deployment, Deadline deadline, Consumer<Progress> progress)
      throws InterruptedException {
    try (var reporter = new Reporter(store, deployment, progress)) {
      while (true) {
        long seen = changes.now();
        Optional<DeploymentStatus> status = live.apply(name).map(view);
        reporter.report();
        if (status.isEmpty()) {
          return WaitResult.removed();
        }
        Optional<WaitResult> settled = StatusView.settled(deployment, status.get());
        if (settled.isPresent()) {
          return settled.get();
        }
        if (!awaitChange(seen, deadline)) {
          return WaitResult.of(
              WaitResult.Outcome.TIMEOUT, status.get(), StatusView.missing(status.get()));
        }
      }
    }
  }

  /** See {@link Deployments#awaitStopped}. */
  void awaitStopped(String name, Optional<String> service, Deadline deadline)
      throws InterruptedException {
    while (true) {
      long seen = changes.now();
      if (live.apply(name).filter(deployment -> deployment.stopping(service)).isEmpty()) {
        return;
      }
      long _ = changes.await(now -> now > seen, deadline, "waiting until it has stopped");
    }
  }

  private boolean awaitChange(long seen, Deadline deadline) throws InterruptedException {
    try {
      long _ = changes.await(now -> now > seen, deadline, "waiting for a deployment");
      return true;
    } catch (AgentException.Timeout _) {
      return false;
    }
  }
}
