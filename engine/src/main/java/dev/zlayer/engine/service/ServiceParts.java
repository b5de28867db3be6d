package dev.zlayer.engine.service;

import dev.zlayer.engine.depend.DependencyStatuses;
import dev.zlayer.engine.init.Initializer;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.port.Claims;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Rotation;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.function.UnaryOperator;
import java.util.random.RandomGenerator;

/**
 * What the loop of a service works with.
 *
 * @param index the containers of all services
 * @param dependencies the statuses that the services of its deployment publish
 * @param lookup its blueprints
 * @param starts limits how many replicas of all services are started at the same time
 * @param cores of this machine; what a replica without a limit can use
 * @param claims that this node has in its cluster
 * @param hiding takes secrets out of what containers print before it is shown or kept
 * @param salt of the hashes of this store
 * @param audience is told what changes
 * @param replicas hears what happens to containers
 */
public record ServiceParts(
    StateStore store,
    ContainerRuntime runtime,
    ContainerIndex index,
    ReplicaContainers containers,
    Initializer initializer,
    Rotation rotation,
    DependencyStatuses dependencies,
    ServiceRevision.Lookup lookup,
    Semaphore starts,
    int cores,
    Claims claims,
    UnaryOperator<String> hiding,
    String salt,
    Listener audience,
    ReplicaListener replicas,
    TimeSource clock,
    RandomGenerator random,
    Supervisor supervisor) {
  /** Whoever shows services to people. Called on threads of the loop; must not block. */
  public interface Listener {
    void changed(ServiceStatus status);

    void pulling(String service, String image, dev.zlayer.port.PullEvent event);

    /** Nothing of the service is left, and its loop has ended. */
    void gone(String service);

    /** Services that have to be gone before this one goes. */
    Set<String> dependants(String service);
  }
}
