package dev.zlayer.port;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.container.Stats;
import dev.zlayer.container.StatsSample;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.task.Deadline;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A handle to one container. It holds nothing: it can be dropped and found again, and after the
 * container was removed every operation but {@link #status}, {@link #await} and {@link #remove}
 * throws {@link dev.zlayer.error.AgentException.NotFound}.
 *
 * <p>Operations that change it are idempotent where a second call finds the wanted state: starting
 * a running one, stopping an ended one and removing a removed one succeed and do nothing.
 *
 * <p>"Blocks" below means: until done, until the given deadline, or until interrupted. An
 * interrupted operation leaves the container in a state from which the same call can be made again.
 */
public interface Container {
  ContainerId id();

  /** What it was made from; labels included. */
  ContainerSpec spec();

  /** Its state now; does not block. {@link ContainerStatus.Unknown} when it cannot be told. */
  ContainerStatus status();

  ContainerDetails inspect();

  /**
   * The name of {@link #inspect} without the work of it, so that one can be looked for among
   * thousands; it may be as old as the handle.
   */
  default String name() {
    return inspect().name();
  }

  /**
   * Runs the process; blocks until it runs. An ended container runs again on its file system.
   *
   * @throws dev.zlayer.error.AgentException.StartFailed it could not be started; carries the last
   *     lines of its output, and the status tells the same
   */
  void start() throws InterruptedException;

  /**
   * Ends it: its stop signal, up to {@code grace} for it to act, then SIGKILL, and waits for death
   * in every case. Returns how it ended. A container that never ran is left as it is.
   */
  Optional<Outcome> stop(Duration grace) throws InterruptedException;

  /**
   * Sends a signal to its first process; does not wait for the effect.
   *
   * @throws dev.zlayer.error.AgentException.InvalidSpec it does not run
   */
  void kill(Signal signal) throws InterruptedException;

  /**
   * Blocks until the condition holds and returns how the last run ended; for a container that has
   * not run, and for one removed without having run, the outcome's status is unknown. Works on a
   * container that was started by an earlier process of the agent.
   *
   * @throws dev.zlayer.error.AgentException.Timeout the deadline passed
   */
  Outcome await(WaitCondition condition, Deadline deadline) throws InterruptedException;

  /**
   * Takes everything of it away: file system, network, limits, logs, anonymous volumes, record.
   * When a step fails the record stays, the exception says which, and calling again goes on.
   *
   * @param force end it first if it is alive
   * @throws dev.zlayer.error.AgentException.InvalidSpec it is alive and {@code force} is not set
   */
  void remove(boolean force) throws InterruptedException;

  /** Its output as the query asks; the reader blocks for more when following. */
  LogReader logs(LogQuery query);

  /**
   * Runs a further process inside.
   *
   * @throws dev.zlayer.error.AgentException.InvalidSpec it does not run
   */
  ExecSession exec(ExecSpec spec) throws InterruptedException;

  /** One reading, from a recent sample where there is one. */
  Stats stats() throws InterruptedException;

  /** As {@link #stats}, with the reading before it where the runtime keeps one; does not wait. */
  default StatsSample sample() throws InterruptedException {
    return new StatsSample(stats(), Optional.empty());
  }

  /** The first process as the host sees it; empty when it does not run or has none. */
  OptionalLong pid();

  /** Its address on its network; empty without a network of its own. */
  Optional<InetAddress> ip();

  /** Its IPv6 address on the same network, if that has two stacks. */
  default Optional<InetAddress> ipv6() {
    return Optional.empty();
  }

  /** The published ports as they really are, ephemeral ones resolved. */
  List<ContainerDetails.PortBinding> ports();
}
