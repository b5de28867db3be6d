package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.LogPruning;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** The part of a handle that only looks at the cell; see {@link Container}. */
public abstract class StatefulContainer<R extends Record & LifecycleRecord<R>>
    implements Container, LogPruning {
  private final String runtime;
  private final RecordedState<R> state;

  /** {@code runtime} is the name of the runtime. */
  protected StatefulContainer(String runtime, RecordedState<R> state) {
    this.runtime = runtime;
    this.state = state;
  }

  @Override
  public final ContainerId id() {
    return state.record().id();
  }

  @Override
  public final ContainerSpec spec() {
    return state.record().spec();
  }

  @Override
  public final ContainerStatus status() {
    return state.status();
  }

  /** Derived from its identity, unless the runtime can rename it. */
  @Override
  public String name() {
    return state.name();
  }

  /** With what only the runtime knows: where its root is. */
  protected final ContainerDetails details(Optional<Path> root) {
    requirePresent();
    R record = state.record();
    return new ContainerDetails(
        record.id(),
        name(),
        runtime,
        record.spec(),
        Optional.of(record.image()),
        record.command(),
        status(),
        record.createdAt(),
        Math.max(0, record.run() - 1),
        ip(),
        ipv6(),
        ports(),
        root);
  }

  @Override
  public final Outcome await(WaitCondition condition, Deadline deadline)
      throws InterruptedException {
    int ends = state.view().now().ends();
    return state
        .view()
        .await(
            view ->
                view.removed()
                    || switch (condition) {
                      case NOT_RUNNING -> !view.status().alive();
                      case NEXT_EXIT -> view.ends() > ends;
                      case REMOVED -> false;
                    },
            deadline,
            "waiting for container " + id())
        .outcome();
  }

  @Override
  public final OptionalLong pid() {
    requirePresent();
    return status().alive() ? state.record().pid() : OptionalLong.empty();
  }

  /** None, unless the runtime gives its containers networks of their own. */
  @Override
  public Optional<InetAddress> ip() {
    requirePresent();
    return Optional.empty();
  }

  /** None, unless the runtime gives its containers networks of their own. */
  @Override
  public List<ContainerDetails.PortBinding> ports() {
    requirePresent();
    return List.of();
  }

  @Override
  public final long pruneLogs() {
    if (spec().logs().inMemory()) {
      return 0;
    }
    try {
      return state.logs().prune();
    } catch (IOException e) {
      throw new AgentException.Internal(
          "old logs of %s cannot be removed: %s".formatted(id(), e.getMessage()), e);
    }
  }

  protected final void requirePresent() {
    if (state.view().now().removed()) {
      throw new AgentException.NotFound("container " + id(), "it was removed");
    }
  }

  protected final void requireRunning() {
    if (!status().alive()) {
      throw notRunning();
    }
  }

  protected final AgentException notRunning() {
    return new AgentException.Conflict(
        status() instanceof ContainerStatus.Paused
            ? "container %s is paused: unpause it first".formatted(id())
            : "container %s does not run: start it first".formatted(id()));
  }

  /** For a removal that was not forced. */
  protected final AgentException stillRuns() {
    return new AgentException.Conflict(
        "container %s is running: stop it first, or force the removal".formatted(id()));
  }
}
