package dev.zlayer.port;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import java.util.List;
import java.util.Optional;

/**
 * A way to run containers: it makes them and finds them. What can be done to one is on its handle,
 * {@link Container}; what only some runtimes can do is a further interface of the handle ({@link
 * Pausable}, {@link Updatable}, {@link Archivable} ...), asked for with {@code instanceof} and
 * announced in {@link #capabilities}.
 *
 * <h2>The life of a container</h2>
 *
 * <ol>
 *   <li>{@link Images#pull} brings the image. {@code create} never asks a registry.
 *   <li>{@link #create} makes everything a process needs (root file system, network, limits) and
 *       records the identity durably, but starts nothing. If any step fails, all earlier steps are
 *       undone before the exception leaves.
 *   <li>{@link Container#start} starts the process. From here on the container lives on its own: it
 *       outlives this object, this runtime and the agent's process.
 *   <li>It ends by itself or through {@link Container#stop} or {@link Container#kill}. How it ended
 *       is recorded by the runtime even if no agent is there to see it.
 *   <li>{@link Container#start} on an ended container runs it again on the same root file system
 *       and identity; or {@link Container#remove} takes everything away, logs included.
 * </ol>
 *
 * <p>An agent that starts anew calls {@link #list}: every container made under this data directory
 * is in it, in its true state. That is all there is to adoption.
 *
 * <p>All methods may be called from any thread at any time. Operations on one container exclude
 * each other where they must; reading ({@code find}, {@code list}, {@code status}) never waits for
 * an operation under way on any container.
 */
public interface ContainerRuntime {
  /** A short stable name such as {@code oci} or {@code docker}. */
  String name();

  Capabilities capabilities();

  Images images();

  /**
   * Makes a container and does not start it. Blocks until it is made.
   *
   * @throws dev.zlayer.error.AgentException.InvalidSpec a part of the spec cannot be meant, or a
   *     container with this identity exists already (which is left as it is)
   * @throws dev.zlayer.error.AgentException.Unsupported a part of the spec cannot be honoured here
   * @throws dev.zlayer.error.AgentException.NotFound the image is not present
   * @throws dev.zlayer.error.AgentException.WrongPlatform the image is not for this runtime
   * @throws dev.zlayer.error.AgentException.CreateFailed a step failed; nothing is left of it
   */
  Container create(ContainerId id, ContainerSpec spec) throws InterruptedException;

  /** The handle of a container that exists; does not block. */
  Optional<Container> find(ContainerId id);

  /** Every container of this runtime, also those made before this process began; does not block. */
  List<Container> list();
}
