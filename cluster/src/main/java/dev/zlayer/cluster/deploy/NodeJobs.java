package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterExecution.Progress;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Runs the executions that were given to this node, and brings their keys up to date. The engine of
 * the node owns them: once begun, they run to their end with or without the cluster.
 */
public final class NodeJobs implements Owner.State {
  private static final Duration ROUND = Duration.ofMillis(500);
  private static final Duration LIMIT = Duration.ofSeconds(5);

  /** The engine of this node. */
  public interface Engine {
    /** Where an execution stands; empty when it never was here, or is kept no longer. */
    Optional<Progress> find(String id);

    /**
     * Begins it; does nothing when it is there.
     *
     * @throws AgentException.NotFound its job is not here yet
     */
    void start(ClusterExecution execution);

    /** Ends it; does nothing when it has ended. */
    void cancel(String id);

    /** Ids of executions of the cluster's deployments that have not ended. */
    Set<String> live();
  }

  private final ClusterStore store;
  private final StateWatch.Source source;
  private final String node;
  private final Engine engine;
  private final InstantSource clock;
  private final SecretGate secrets;
  private volatile Optional<String> problem = Optional.empty();

  /** Does nothing before its owner starts. */
  public NodeJobs(
      ClusterStore store,
      StateWatch.Source source,
      String node,
      Engine engine,
      InstantSource clock) {
    this(store, source, node, engine, clock, SecretGate.OPEN);
  }

  /**
   * Likewise.
   *
   * @param secrets nothing starts before its secrets are here
   */
  public NodeJobs(
      ClusterStore store,
      StateWatch.Source source,
      String node,
      Engine engine,
      InstantSource clock,
      SecretGate secrets) {
    this.secrets = secrets;
    this.store = store;
    this.source = source;
    this.node = node;
    this.engine = engine;
    this.clock = clock;
  }

  /** Why it could not follow in its last round. */
  public Optional<String> problem() {
    return problem;
  }

  @Override
  public Duration round() throws InterruptedException {
    try {
      follow();
      problem = Optional.empty();
    } catch (AgentException e) {
      problem = Optional.of(String.valueOf(e.getMessage()));
    }
    return ROUND;
  }

  private void follow() throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    ClusterState state = source.state();
    var own = new HashSet<String>();
    Optional<AgentException> failure = Optional.empty();
    for (ClusterExecution execution : state.executions().values()) {
      if (execution.node().filter(node::equals).isPresent()) {
        own.add(execution.id());
        try {
          update(state, execution, deadline);
        } catch (AgentException e) {
          failure = Optional.of(failure.orElse(e)); // it does not hold up the ends of others
        }
      }
    }
    for (String id : engine.live()) {
      if (!own.contains(id)) {
        engine.cancel(id); // given to another node since this one was taken for lost
      }
    }
    if (failure.isPresent()) {
      throw failure.get();
    }
  }

  private void update(ClusterState state, ClusterExecution execution, Deadline deadline)
      throws InterruptedException {
    Optional<ClusterExecution> next = next(state, execution);
    if (next.isPresent() && !next.get().equals(execution)) {
      // not applied when somebody has changed it meanwhile: the next round reads that
      var _ =
          store.transact(List.of(state.unchanged(execution.key())), next.get().changes(), deadline);
    }
  }

  /** As the engine has it; empty when there is nothing to say yet. */
  private Optional<ClusterExecution> next(ClusterState state, ClusterExecution execution) {
    Optional<Progress> found = engine.find(execution.id());
    if (found.isEmpty()) {
      return begin(state, execution);
    }
    if (execution.cancelled() && found.get().finished().isEmpty()) {
      engine.cancel(execution.id());
    }
    return shown(execution);
  }

  private Optional<ClusterExecution> shown(ClusterExecution execution) {
    return engine
        .find(execution.id())
        .map(
            progress ->
                progress
                    .refused()
                    .filter(_ -> !execution.cancelled())
                    .map(execution::refused)
                    .orElseGet(() -> execution.with(progress)));
  }

  private Optional<ClusterExecution> begin(ClusterState state, ClusterExecution execution) {
    if (execution.progress().isPresent()) {
      return Optional.of(
          execution.ended(
              ClusterExecution.LOST,
              Optional.of("its node does not know it any more"),
              clock.instant()));
    }
    if (execution.cancelled()) {
      return Optional.of(
          execution.ended(ClusterExecution.CANCELLED, Optional.empty(), clock.instant()));
    }
    if (!secrets.starts(state, execution)) {
      return Optional.empty();
    }
    try {
      engine.start(execution);
      return shown(execution);
    } catch (AgentException.NotFound | AgentException.Busy _) {
      return Optional.empty(); // the file is applied in a moment, or others have to end first
    } catch (AgentException e) {
      if (e.blame() != Blame.REQUEST) {
        throw e;
      }
      return Optional.of(
          execution.ended(
              ClusterExecution.FAILED,
              Optional.of(String.valueOf(e.getMessage())),
              clock.instant()));
    }
  }
}
