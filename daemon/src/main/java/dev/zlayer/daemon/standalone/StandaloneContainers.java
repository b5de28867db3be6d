package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.spec.service.RestartPolicySpec;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.Pauses;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/** Makes, starts, stops and keeps containers that belong to no deployment. */
public final class StandaloneContainers implements AutoCloseable {
  /** Containers that a person stopped; {@code unless_stopped} and the keepers ask for it. */
  private static final String STOPPED = "standalone.stopped";

  private static final Pattern NAME = Pattern.compile("[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}");

  private final ContainerRuntime runtime;
  private final StateStore store;
  private final InstantSource clock;
  private final Pauses pauses;
  private final Log log;
  private final KeyedLock<ContainerId> locks = new KeyedLock<>();
  private final Map<ContainerId, KeeperLoop> keepers = new ConcurrentHashMap<>();
  private volatile boolean closing;

  /** What is wanted of a container besides its spec. */
  public record Wish(Optional<String> name, Optional<RestartPolicySpec> restart, boolean remove) {}

  private StandaloneContainers(
      ContainerRuntime runtime, StateStore store, InstantSource clock, Pauses pauses, Log log) {
    this.runtime = runtime;
    this.store = store;
    this.clock = clock;
    this.pauses = pauses;
    this.log = log;
  }

  /** Goes on with what is there: watches what runs, starts what has to run, removes what has to. */
  public static StandaloneContainers open(
      ContainerRuntime runtime, StateStore store, InstantSource clock, Pauses pauses, Log log) {
    var containers = new StandaloneContainers(runtime, store, clock, pauses, log);
    for (Container container : runtime.list()) {
      if (standalone(container.id())) {
        containers.adopt(container);
      }
    }
    return containers;
  }

  public static boolean standalone(ContainerId id) {
    return id.deployment().equals(ContainerId.STANDALONE);
  }

  /** What ended while no agent was there is dealt with now. */
  private void adopt(Container container) {
    ContainerStatus status = container.status();
    boolean ended = status instanceof ContainerStatus.Exited;
    boolean always =
        AfterExit.read(container.spec().labels()).restart() == RestartPolicySpec.Kind.ALWAYS;
    if (ended && always) {
      store.commit(Change.of(new Change.Delete(STOPPED, container.id().toString())));
    }
    if (ended || status.alive()) {
      keep(container);
    }
  }

  /**
   * Makes a container; does not start it. The image has to be present.
   *
   * @throws AgentException.InvalidSpec the name is odd or taken
   */
  public Container create(ContainerSpec spec, Wish wish) throws InterruptedException {
    if (wish.remove()
        && wish.restart()
            .filter(policy -> policy.kind() != RestartPolicySpec.Kind.NO)
            .isPresent()) {
      throw new AgentException.InvalidSpec(
          "a container cannot be removed after its end and restarted too: choose one");
    }
    String name = wish.name().orElseGet(StandaloneContainers::anyName);
    if (!NAME.matcher(name).matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a name: use letters, digits, dots, hyphens and underscores".formatted(name));
    }
    var labels = new HashMap<>(spec.labels());
    labels.putAll(AfterExit.of(wish.restart(), wish.remove()).labels());
    ContainerId id = ContainerId.of(ContainerId.STANDALONE, name, 1);
    try (var _ = locks.lock(id)) {
      if (runtime.find(id).isPresent()) {
        throw new AgentException.InvalidSpec(
            "the name '%s' is taken: remove that container first, or choose another"
                .formatted(name));
      }
      store.commit(Change.of(new Change.Delete(STOPPED, id.toString())));
      Container container = runtime.create(id, spec.withLabels(labels));
      tell("container.created", container, Json.object().put("image", spec.image()).build());
      return container;
    }
  }

  public void start(Container container) throws InterruptedException {
    try (var _ = locks.lock(container.id())) {
      store.commit(Change.of(new Change.Delete(STOPPED, container.id().toString())));
      drop(container.id());
      container.start();
      tell("container.started", container, Json.object().build());
      keep(container);
    }
  }

  /** Ends it as a person wants it: it is not restarted until somebody starts it. */
  public Optional<Outcome> stop(Container container, Duration grace) throws InterruptedException {
    try (var _ = locks.lock(container.id())) {
      store.commit(
          Change.of(
              new Change.Put(
                  STOPPED, container.id().toString(), "true".getBytes(StandardCharsets.UTF_8))));
      Optional<Outcome> outcome = container.stop(grace);
      tell(
          "container.stopped",
          container,
          Json.object().putIf("ended", outcome.map(end -> end.status().text())).build());
      return outcome;
    }
  }

  public void remove(Container container, boolean force) throws InterruptedException {
    if (container.status().alive() && !force) {
      container.remove(false); // says what to do
    }
    try (var _ = locks.lock(container.id())) {
      drop(container.id());
      container.remove(force);
      tell("container.removed", container, Json.object().build());
      store.commit(Change.of(new Change.Delete(STOPPED, container.id().toString())));
    }
  }

  private boolean stoppedByHand(ContainerId id) {
    return closing || store.find(STOPPED, id.toString()).isPresent();
  }

  private void keep(Container container) {
    if (!AfterExit.read(container.spec().labels()).watched()) {
      return;
    }
    ContainerId id = container.id();
    keepers.put(id, new KeeperLoop(container, () -> stoppedByHand(id), pauses, log));
  }

  private void drop(ContainerId id) {
    KeeperLoop keeper = keepers.remove(id);
    if (keeper != null) {
      keeper.close();
    }
  }

  private void tell(String kind, Container container, Json detail) {
    store.commit(Change.of(new Event(clock.instant(), kind, container.id().toString(), detail)));
  }

  private static String anyName() {
    return "run-"
        + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong()).substring(0, 8);
  }

  /** Stops watching; the containers go on. */
  @Override
  public void close() {
    closing = true;
    List.copyOf(keepers.values()).forEach(KeeperLoop::close);
  }
}
