package dev.zlayer.testkit.fake;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ContainerStatus.Phase;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.ProcessTable;
import dev.zlayer.container.Resources;
import dev.zlayer.container.Signal;
import dev.zlayer.container.Stats;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ExecSession;
import dev.zlayer.port.LogReader;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.Preparable;
import dev.zlayer.port.ProcessListing;
import dev.zlayer.port.Renamable;
import dev.zlayer.port.Updatable;
import dev.zlayer.task.Deadline;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** A handle to a container that exists only in a {@link FakeWorld}. */
final class FakeContainer
    implements Container, Pausable, Preparable, Renamable, Updatable, ProcessListing {
  private final FakeState state;
  private final FakeWorld world;

  FakeContainer(FakeState state) {
    this.state = state;
    this.world = state.world();
  }

  @Override
  public ContainerId id() {
    return state.id();
  }

  @Override
  public ContainerSpec spec() {
    try (var _ = world.lock()) {
      return state.spec();
    }
  }

  @Override
  public ContainerStatus status() {
    try (var _ = world.lock()) {
      return state.status();
    }
  }

  @Override
  public ContainerDetails inspect() {
    try (var _ = existing()) {
      return new ContainerDetails(
          state.id(),
          state.name(),
          "fake",
          state.spec(),
          world.images().digest(state.spec().image()),
          state.spec().process().args().orElse(List.of()),
          state.status(),
          state.createdAt(),
          state.restarts(),
          Optional.empty(),
          Optional.empty(),
          List.of(),
          Optional.empty());
    }
  }

  @Override
  public String name() {
    try (var _ = world.lock()) {
      return state.name();
    }
  }

  @Override
  public void start() throws InterruptedException {
    try (var _ = existing()) {
      world.note("start", id());
      world.await(
          () -> state.status().phase() != Phase.STOPPING,
          Deadline.none(),
          Optional.empty(),
          "waiting for the end of container '" + id() + "'");
      switch (state.status().phase()) {
        case RUNNING -> {}
        case PAUSED ->
            throw new AgentException.InvalidSpec(
                "container '" + id() + "' is paused: unpause it instead");
        default -> state.start();
      }
    }
  }

  @Override
  public void prepare() {
    try (var _ = existing()) {
      world.note("prepare", id());
      switch (state.status().phase()) {
        case PREPARED -> {}
        case CREATED -> {
          failAt("prepare");
          state.prepare();
        }
        default ->
            throw new AgentException.Conflict("container '" + id() + "' has been started before");
      }
    }
  }

  @Override
  public boolean claim(Map<String, String> labels) {
    try (var _ = existing()) {
      if (state.status().phase() != Phase.PREPARED) {
        return false;
      }
      state.label(labels);
      return true;
    }
  }

  @Override
  public void label(Map<String, String> labels) {
    try (var _ = existing()) {
      state.label(labels);
    }
  }

  @Override
  public Optional<Outcome> stop(Duration grace) throws InterruptedException {
    try (var _ = existing()) {
      world.note("stop", id());
      if (state.status().phase() == Phase.CREATED || state.status().phase() == Phase.PREPARED) {
        return Optional.empty();
      }
      if (state.status().alive()) {
        failAt("stop");
        state.beginStop(grace);
        awaitEnd();
      }
      return Optional.of(state.outcome());
    }
  }

  private void awaitEnd() throws InterruptedException {
    try {
      world.await(
          () -> !state.status().alive(), Deadline.none(), Optional.empty(), "stopping " + id());
    } catch (InterruptedException e) {
      state.abandonStop();
      throw e;
    }
  }

  @Override
  public void kill(Signal signal) {
    try (var _ = running()) {
      world.note("kill " + signal, id());
      state.signal(signal);
    }
  }

  @Override
  public Outcome await(WaitCondition condition, Deadline deadline) throws InterruptedException {
    try (var _ = world.lock()) {
      long before = state.exits();
      world.await(
          () ->
              switch (condition) {
                case NOT_RUNNING -> !state.status().alive();
                case NEXT_EXIT -> state.exits() > before || removed();
                case REMOVED -> removed();
              },
          deadline,
          Optional.empty(),
          "waiting for container '" + id() + "'");
      return state.outcome();
    }
  }

  @Override
  public void remove(boolean force) {
    try (var _ = world.lock()) {
      if (removed()) {
        return;
      }
      world.note("remove", id());
      if (state.status().alive() && !force) {
        throw new AgentException.Conflict(
            "container '" + id() + "' is running: stop it first or force the removal");
      }
      failAt("remove");
      state.remove();
    }
  }

  @Override
  public LogReader logs(LogQuery query) {
    try (var _ = existing()) {
      return new FakeLogReader(state, query);
    }
  }

  @Override
  public ExecSession exec(ExecSpec spec) {
    try (var _ = running()) {
      var result =
          world
              .execHandler()
              .map(handler -> handler.run(id(), spec))
              .orElseGet(() -> new FakeWorld.ExecResult(state.behaviour().execCode(), "", ""));
      return new FakeExec(result);
    }
  }

  @Override
  public Stats stats() {
    try (var _ = existing()) {
      boolean alive = state.status().alive();
      return new Stats(
          world.now(),
          alive ? 1_000_000 : 0,
          alive ? 1 << 20 : 0,
          state.spec().resources().memoryBytes(),
          alive ? 1 : 0,
          state.spec().resources().pids(),
          0,
          0,
          0,
          0);
    }
  }

  @Override
  public OptionalLong pid() {
    try (var _ = existing()) {
      return state.pid();
    }
  }

  @Override
  public Optional<InetAddress> ip() {
    try (var _ = existing()) {
      return Optional.ofNullable(spec().labels().get("fake.ip")).map(InetAddress::ofLiteral);
    }
  }

  @Override
  public List<ContainerDetails.PortBinding> ports() {
    try (var _ = existing()) {
      return List.of();
    }
  }

  @Override
  public void pause() {
    try (var _ = running()) {
      world.note("pause", id());
      if (state.status().phase() == Phase.RUNNING) {
        state.pause();
      }
    }
  }

  @Override
  public void unpause() {
    try (var _ = running()) {
      world.note("unpause", id());
      if (state.status().phase() == Phase.PAUSED) {
        state.unpause();
      }
    }
  }

  @Override
  public void rename(String name) {
    try (var _ = existing()) {
      boolean taken =
          world.containers().values().stream()
              .anyMatch(other -> !other.id().equals(id()) && other.name().equals(name));
      if (taken) {
        throw new AgentException.Conflict("the name '" + name + "' is taken");
      }
      if (!name.matches("[a-zA-Z0-9][a-zA-Z0-9_.-]*")) {
        throw new AgentException.InvalidSpec("'" + name + "' cannot be a container's name");
      }
      state.rename(name);
    }
  }

  @Override
  public List<String> update(Resources resources) {
    try (var _ = existing()) {
      state.update(resources);
      return List.of();
    }
  }

  @Override
  public ProcessTable processes() {
    try (var _ = running()) {
      String pid = Long.toString(state.pid().orElseThrow());
      return new ProcessTable(List.of("PID", "CMD"), List.of(List.of(pid, "fake")));
    }
  }

  private boolean removed() {
    return state.status().phase() == Phase.REMOVED;
  }

  private void failAt(String step) {
    if (state.fails(step)) {
      throw new AgentException.Internal(
          "cannot %s container '%s': the label fake.fail says so".formatted(step, id()));
    }
  }

  private FakeWorld.Held existing() {
    FakeWorld.Held held = world.lock();
    if (removed()) {
      held.close();
      throw new AgentException.NotFound("container '" + id() + "'", "it was removed");
    }
    return held;
  }

  private FakeWorld.Held running() {
    FakeWorld.Held held = existing();
    if (!state.status().alive()) {
      held.close();
      throw new AgentException.Conflict("container '" + id() + "' does not run: start it first");
    }
    return held;
  }
}
