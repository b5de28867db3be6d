package dev.zlayer.engine.job;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Owner;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Containers made ahead, as one execution has them from any thread. Trouble with them is never
 * trouble of the execution, which is created as usual then.
 */
record WarmSupply(Owner<WarmContainers> owner, WarmStock stock) {
  private static final System.Logger LOG = LazyLogger.of(WarmSupply.class);

  /** One that takes longer to be made is none to wait for. */
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /** Whether it is worth asking. */
  boolean offers(JobDefinition job) {
    return job.job().ahead() > 0 || stock.expects(job.key());
  }

  /** Returns when what is being made for the like of this execution is made, or will not be. */
  void await(WarmTarget target, WarmPlanner.Shape shape) throws InterruptedException {
    try {
      Optional<CountDownLatch> coming = owner.ask(pool -> pool.coming(target, shape));
      if (coming.isPresent() && !coming.get().await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
        LOG.log(
            System.Logger.Level.WARNING,
            "a container of job '%s' is still being made ahead".formatted(target.job()));
      }
    } catch (AgentException e) {
      none(e);
    }
  }

  /** One that is exactly what is wanted; {@link #started} has to follow in either case. */
  Optional<WarmContainers.Taken> take(WarmTarget target, WarmPlanner.Shape shape) {
    try {
      return owner.ask(pool -> pool.take(target, shape));
    } catch (AgentException e) {
      none(e);
      return Optional.empty();
    }
  }

  private static void none(AgentException e) {
    LOG.log(System.Logger.Level.WARNING, "no container made ahead: " + e.getMessage());
  }

  void started() {
    owner.tell(WarmContainers::started);
  }

  /** One that was taken cannot be used. */
  void spoilt(long number) {
    owner.tell(pool -> pool.spoilt(number));
  }

  /** One that was taken is removed. */
  void left(long number) {
    owner.tell(pool -> pool.left(number));
  }
}
