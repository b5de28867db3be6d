package dev.zlayer.engine.deployment;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The one door to deployments: files that are made true and kept true.
 *
 * <p>Everything that is asked for is durable before the method returns and carried out afterwards;
 * {@link #awaitStable} waits for that. After a kill at any moment the next {@link #open} over the
 * same store goes on: containers that are right are left alone, whatever is missing is made in the
 * order of the dependencies, whatever nobody wants is taken away.
 *
 * <p>May be used from any thread; looking never waits for anything under way. What happens is told
 * by events: {@code deployment.*} with the deployment's name as subject, {@code service.*} with
 * {@code deployment/service}, {@code replica.*} with the identity of the container.
 */
@SuppressWarnings("DoNotCallSuggester") // the bodies follow
public final class Deployments implements AutoCloseable {
  private final DeploymentParts parts;
  private final DeploymentConfig config;
  private final DeploymentStore store;

  private Deployments(DeploymentParts parts, DeploymentConfig config) {
    this.parts = parts;
    this.config = config;
    this.store = new DeploymentStore(parts.store());
  }

  /** Goes on with everything that the store says is wanted; returns before it is true. */
  public static Deployments open(DeploymentParts parts, DeploymentConfig config) {
    return new Deployments(parts, config);
  }

  /**
   * Wants what the file says from now on. Services that are not in it any more are taken away;
   * replicas that are as wanted stay untouched. The same file once more makes no new revision but
   * starts again what has failed.
   *
   * @throws AgentException.InvalidSpec the file has problems; all are named
   * @throws AgentException.Unsupported fields of it cannot be honoured; all are named
   */
  public Revision up(UpRequest request) {
    throw unbuilt();
  }

  /** What {@link #up} would change; throws what it would throw. */
  public DeploymentDiff diff(UpRequest request) {
    throw unbuilt();
  }

  /**
   * Takes a deployment away: services in the reverse order of their dependencies, jobs, schedules,
   * network. Returns when that is recorded; {@link #awaitStable} tells when it is gone.
   *
   * @param volumes also remove its named volumes
   * @throws AgentException.NotFound there is no such deployment
   */
  public void down(String name, boolean volumes) {
    throw unbuilt();
  }

  /**
   * Wants an earlier revision again, as a new one.
   *
   * @param revision absent is the one before the newest
   * @throws AgentException.NotFound there is no such deployment, or the revision is kept no longer
   */
  public Revision rollback(String name, Optional<Long> revision) {
    throw unbuilt();
  }

  public List<DeploymentStatus> list() {
    return List.of();
  }

  public Optional<DeploymentStatus> find(String name) {
    return Optional.empty();
  }

  /** As {@link #find}, but throws {@link AgentException.NotFound}. */
  public DeploymentStatus status(String name) {
    return find(name).orElseThrow(() -> DeploymentStore.unknown(name));
  }

  /** All that are kept, oldest first; the last one is wanted. */
  public List<Revision> revisions(String name) {
    return store.revisions(name);
  }

  /**
   * Wants that many replicas until the file or somebody says otherwise.
   *
   * @throws AgentException.InvalidSpec the file fixes the number, or it is outside of its bounds
   * @throws AgentException.NotFound there is no such service
   */
  public void scale(ServiceKey service, int replicas) {
    throw unbuilt();
  }

  /** Wants the service to run, after {@link #stop} or after it was given up. */
  public void start(ServiceKey service) {
    throw unbuilt();
  }

  /** Wants no replica of the service until {@link #start}; survives restarts of the agent. */
  public void stop(ServiceKey service) {
    throw unbuilt();
  }

  /** Replaces all replicas, the way an update would. */
  public void restart(ServiceKey service) {
    throw unbuilt();
  }

  /**
   * Blocks until the deployment is as wanted, has failed, or is gone; throws nothing for these.
   *
   * @param progress is told what happens meanwhile, on the thread of the caller
   * @throws AgentException.NotFound there is no such deployment
   */
  public Settled awaitStable(String name, Deadline deadline, Consumer<Progress> progress)
      throws InterruptedException {
    throw unbuilt();
  }

  /** Secrets have changed: services that use them are rolled. */
  public void secretsChanged() {}

  /** Looks at the clock again; for clocks that do not go by themselves. */
  public void wake() {}

  /**
   * Stops every container in the reverse order of the dependencies, within the grace of each, and
   * forgets nothing: the next {@link #open} starts them again. For a machine that goes down.
   */
  public void shutdown(Deadline deadline) throws InterruptedException {}

  /** Stops deciding; containers go on and are found by the next process over the same store. */
  @Override
  public void close() {}

  private AgentException unbuilt() {
    return new AgentException.Unsupported(
        "deployments are not built yet (%s, %s)".formatted(parts.runtime().name(), config));
  }
}
