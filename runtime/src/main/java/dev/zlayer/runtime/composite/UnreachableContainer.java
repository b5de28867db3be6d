package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.container.Stats;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ExecSession;
import dev.zlayer.port.LogReader;
import dev.zlayer.task.Deadline;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A container that exists, in a runtime that does not answer now. It is not gone, and nobody may
 * take it for gone: its status is unknown, and whatever is asked of it fails for its runtime's
 * reason.
 */
record UnreachableContainer(DispatchRecord record, AgentException reason) implements Container {
  @Override
  public ContainerId id() {
    return record.id();
  }

  @Override
  public ContainerSpec spec() {
    return record.spec();
  }

  @Override
  public ContainerStatus status() {
    return new ContainerStatus.Unknown(
        "runtime '%s' does not answer: %s".formatted(record.runtime(), reason.getMessage()));
  }

  @Override
  public ContainerDetails inspect() {
    throw reason;
  }

  @Override
  public String name() {
    return id().runtimeName();
  }

  @Override
  public void start() {
    throw reason;
  }

  @Override
  public Optional<Outcome> stop(Duration grace) {
    throw reason;
  }

  @Override
  public void kill(Signal signal) {
    throw reason;
  }

  @Override
  public Outcome await(WaitCondition condition, Deadline deadline) {
    throw reason;
  }

  @Override
  public void remove(boolean force) {
    throw reason;
  }

  @Override
  public LogReader logs(LogQuery query) {
    throw reason;
  }

  @Override
  public ExecSession exec(ExecSpec spec) {
    throw reason;
  }

  @Override
  public Stats stats() {
    throw reason;
  }

  @Override
  public OptionalLong pid() {
    throw reason;
  }

  @Override
  public Optional<InetAddress> ip() {
    throw reason;
  }

  @Override
  public List<ContainerDetails.PortBinding> ports() {
    throw reason;
  }
}
