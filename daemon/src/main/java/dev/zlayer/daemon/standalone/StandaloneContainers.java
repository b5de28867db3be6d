package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Resources;
import dev.zlayer.container.Signal;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.health.HealthState;
import dev.zlayer.engine.health.HealthStatus;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.LogReader;
import dev.zlayer.port.Renamable;
import dev.zlayer.port.Updatable;
import dev.zlayer.spec.service.HealthSpec;
import dev.zlayer.spec.service.RestartPolicySpec;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.Threads;
import dev.zlayer.task.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Makes, starts, stops and keeps containers that belong to no deployment. */
public final class StandaloneContainers implements AutoCloseable {
  /** What a client of Docker asked for when it made a container, as that client wrote it. */
  public static final String REQUEST = "com.zlayer.docker.request";

  private final ContainerRuntime runtime;
  private final TimeSource clock;
  private final Supervisor supervisor;
  private final Pauses pauses;
  private final Log log;
  private final KeyedLock<ContainerId> locks = new KeyedLock<>();
  private final FreeNames free;
  private final KeyedLock<String> names = new KeyedLock<>();
  private final Map<ContainerId, RestartSupervisor.Handle> keepers = new ConcurrentHashMap<>();
  private final OutputReaders readers = new OutputReaders();
  private final StartSignals starts = new StartSignals();
  private final ManualStops stops;
  private final RestartRules rules;
  private final HealthChecks checks;
  private final ContainerEvents events;
  private final ContainerActions actions;
  private volatile boolean closing;

  /**
   * What is wanted of a container besides its spec.
   *
   * @param remove so long after its end it is removed
   * @param startWithin so long after it was made it is removed unless it was started, so that
   *     nothing remains of a caller that vanished in between
   * @param health how its health is checked
   */
  public record CreateRequest(
      Optional<String> name,
      Optional<RestartPolicySpec> restart,
      Optional<Duration> remove,
      Optional<Duration> startWithin,
      Optional<ContainerHealth> health) {}

  private StandaloneContainers(
      ContainerRuntime runtime,
      StateStore store,
      TimeSource clock,
      Pauses pauses,
      Supervisor supervisor,
      Log log) {
    this.supervisor = supervisor;
    this.runtime = runtime;
    this.free = new FreeNames(runtime);
    this.stops = new ManualStops(store);
    this.rules = new RestartRules(store);
    this.events = new ContainerEvents(store, clock);
    this.actions = new ContainerActions(events);
    this.clock = clock;
    this.pauses = pauses;
    this.log = log;
    this.checks = new HealthChecks(clock, supervisor, this::healthChanged);
  }

  /** Goes on with what is there: watches what runs, starts what has to run, removes what has to. */
  public static StandaloneContainers open(
      ContainerRuntime runtime,
      StateStore store,
      TimeSource clock,
      Pauses pauses,
      Supervisor supervisor,
      Log log) {
    var containers = new StandaloneContainers(runtime, store, clock, pauses, supervisor, log);
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
    events.know(container);
    ContainerStatus status = container.status();
    boolean ended = status instanceof ContainerStatus.Exited;
    boolean always = rules(container).restart() == RestartPolicySpec.Kind.ALWAYS;
    if (ended && always) {
      stops.forget(container.id());
    }
    if (ended || status.alive() || status instanceof ContainerStatus.Created) {
      keep(container);
    }
    if (status.alive()) {
      checks.begin(container);
    }
  }

  /**
   * Makes a container; does not start it. The image has to be present.
   *
   * @throws AgentException.InvalidSpec the name is odd
   * @throws AgentException.Conflict the name is taken
   */
  public Container create(ContainerSpec spec, CreateRequest request) throws InterruptedException {
    if (request.remove().isPresent()
        && request
            .restart()
            .filter(policy -> policy.kind() != RestartPolicySpec.Kind.NO)
            .isPresent()) {
      throw new AgentException.InvalidSpec(
          "a container cannot be removed after its end and restarted too: choose one");
    }
    String name = request.name().map(FreeNames::checked).orElseGet(FreeNames::any);
    var labels = new HashMap<>(spec.labels());
    labels.putAll(
        AfterExit.of(request.restart(), request.remove(), request.startWithin()).labels());
    request.health().ifPresent(health -> labels.putAll(health.labels()));
    try (var _ = names.lock(name)) {
      free.require(name);
      ContainerId id = free.id(name);
      stops.forget(id);
      rules.forget(id);
      Container container = runtime.create(id, spec.withLabels(labels));
      events.record(
          "container.created", container, Json.object().put("image", spec.image()).build());
      keep(container);
      return container;
    }
  }

  /**
   * Gives a container another name; the old one is free then.
   *
   * @throws AgentException.Conflict the name is taken
   */
  public void rename(Container container, String name) throws InterruptedException {
    try (var _ = names.lock(name)) {
      free.require(name);
      if (!(container instanceof Renamable renamable)) {
        throw new AgentException.Unsupported(
            "container %s cannot be renamed: its runtime has no names".formatted(container.id()));
      }
      String before = DisplayName.of(container.inspect());
      renamable.rename(name);
      events.record(
          "container.renamed",
          container,
          Json.object().put("from", before).put("to", name).build());
    }
  }

  /** Nobody reads its output any more: one that is to be removed goes as soon as it exits. */
  public void release(Container container) {
    RestartSupervisor.Handle keeper = keepers.get(container.id());
    if (keeper != null) {
      keeper.release();
    }
  }

  /** Changes limits at once, for later starts too, and what happens after its exit. */
  public List<String> update(
      Container container, Optional<Resources> limits, Optional<RestartPolicySpec> restart)
      throws InterruptedException {
    try (var _ = locks.lock(container.id())) {
      List<String> warnings = List.of();
      if (limits.isPresent()) {
        if (!(container instanceof Updatable updatable)) {
          throw new AgentException.Unsupported(
              "the limits of container %s cannot be changed by its runtime"
                  .formatted(container.id()));
        }
        warnings = updatable.update(limits.get());
      }
      if (restart.isPresent()) {
        boolean kept = unattended(container) || container.status().alive();
        rules.change(container.id(), container.spec().labels(), restart.get());
        if (kept) {
          unsupervised(container.id());
          keep(container);
        }
      }
      events.record("container.updated", container, Json.object().build());
      return warnings;
    }
  }

  /** Whether it has ended by itself and has a rule for that. */
  public boolean unattended(Container container) {
    return container.status() instanceof ContainerStatus.Exited
        && !stoppedByHand(container.id())
        && rules(container).restart() != RestartPolicySpec.Kind.NO;
  }

  /** What ended its supervision was not done. */
  private void keepAgain(Container container) {
    boolean waits = container.status() instanceof ContainerStatus.Created;
    boolean runs = container.status().alive();
    if (waits || runs || unattended(container) || removedAfterExit(container)) {
      keep(container);
    }
    if (container.status().alive()) {
      checks.begin(container);
    }
  }

  private AfterExit rules(Container container) {
    return rules.of(container.id(), container.spec().labels());
  }

  public boolean removedAfterExit(Container container) {
    return rules(container).remove().isPresent();
  }

  public Map<String, String> labels(ContainerDetails details) {
    return rules.labels(details.id(), details.spec().labels());
  }

  public void start(Container container) throws InterruptedException {
    try (var _ = locks.lock(container.id())) {
      stops.forget(container.id());
      drop(container.id());
      events.recordExit(container);
      begin(container);
      try {
        events.record("container.started", container, Json.object().build());
      } finally {
        keep(container);
        checks.begin(container);
      }
    }
  }

  private void begin(Container container) throws InterruptedException {
    try {
      container.start();
    } catch (InterruptedException e) {
      starts.failed(container.id());
      keepAgain(container); // it is as it was before
      throw e;
    } catch (AgentException e) {
      starts.failed(container.id());
      throw e;
    }
    starts.started(container.id());
  }

  /** Ends it and starts it again, also when the client leaves meanwhile. */
  public void restart(Container container, Optional<Signal> signal, Duration grace) {
    try (var _ = readers.hold(container.id())) { // it is not removed in between
      Optional<Outcome> _ = stop(container, signal, grace);
      Threads.complete(() -> start(container));
    }
  }

  public ContainerActions actions() {
    return actions;
  }

  public StartSignals starts() {
    return starts;
  }

  /**
   * Ends it as a person wants it: it is not restarted until somebody starts it. It ends within its
   * grace also when the client leaves meanwhile.
   */
  public Optional<Outcome> stop(Container container, Optional<Signal> signal, Duration grace) {
    Deadline end = Deadline.after(grace);
    var outcome = new ArrayList<Outcome>();
    Threads.complete(() -> tryStop(container, signal, end.left()).ifPresent(outcome::add));
    return outcome.stream().findFirst();
  }

  private Optional<Outcome> tryStop(Container container, Optional<Signal> signal, Duration grace)
      throws InterruptedException {
    try (var _ = locks.lock(container.id())) {
      stops.record(container.id());
      Duration rest = grace;
      if (signal.isPresent() && container.status().alive()) {
        container.kill(signal.get());
        try {
          Outcome _ = container.await(WaitCondition.NOT_RUNNING, Deadline.after(grace));
        } catch (AgentException.Timeout _) {
          rest = Duration.ZERO;
        }
      }
      Optional<Outcome> outcome = container.stop(rest);
      outcome.ifPresent(end -> events.recordExit(container, end)); // it comes before the stop
      events.record(
          "container.stopped",
          container,
          Json.object().putIf("ended", outcome.map(end -> end.status().text())).build());
      return outcome;
    }
  }

  /** Sends a signal; one that ends it for certain is as good as a stop. */
  public void kill(Container container, Signal signal) throws InterruptedException {
    if (signal.equals(Signal.KILL)) {
      stops.record(container.id());
    }
    actions.signal(container, signal);
  }

  public void remove(Container container, boolean force) throws InterruptedException {
    if (container.status().alive() && !force) {
      container.remove(false); // says what to do
    }
    try (var _ = locks.lock(container.id())) {
      drop(container.id());
      events.know(container);
      try {
        ContainerActions.endNow(container);
        events.recordExit(container);
        container.remove(force);
      } catch (AgentException | InterruptedException e) {
        keepAgain(container); // it is still there
        throw e;
      }
      starts.failed(container.id());
      forget(container);
    }
  }

  /** A container is not removed after its exit before its readers are closed. */
  public OutputReaders readers() {
    return readers;
  }

  /** Output of a container, which is not removed after its exit before this is closed. */
  public LogReader logs(Container container, LogQuery query) {
    return readers.open(container, query);
  }

  private boolean stoppedByHand(ContainerId id) {
    return closing || stops.has(id);
  }

  private void keep(Container container) {
    Optional<Duration> lease = Optional.empty();
    if (container.status() instanceof ContainerStatus.Created) {
      lease =
          rules(container)
              .startWithin()
              .map(
                  limit -> AfterExit.left(container.inspect().createdAt(), limit, clock.instant()));
      if (lease.isEmpty()) {
        return; // it may wait to be started for ever
      }
    }
    keepers.put(
        container.id(),
        RestartSupervisor.start(
            container,
            lease,
            rules(container),
            new PendingChanges(container),
            pauses,
            clock,
            supervisor,
            log));
  }

  /** What a keeper asks and tells; it takes no lock, since whoever has one may wait for it. */
  private final class PendingChanges implements RestartSupervisor.Book {
    private final Container container;

    PendingChanges(Container container) {
      this.container = container;
    }

    @Override
    public boolean stoppedByHand() {
      return StandaloneContainers.this.stoppedByHand(container.id());
    }

    @Override
    public void awaitReaders() throws InterruptedException {
      readers.awaitNone(container.id());
    }

    @Override
    public void ended(Outcome outcome) {
      checks.end(container.id());
      events.recordExit(container, outcome);
    }

    @Override
    public boolean unhealthy() {
      return checks.takeUnhealthy(container.id());
    }

    @Override
    public void restarted() {
      starts.started(container.id());
      events.record("container.restarted", container, Json.object().build());
      checks.begin(container);
    }

    @Override
    public void removed() {
      starts.failed(container.id());
      forget(container);
      keepers.remove(container.id());
    }
  }

  private void forget(Container container) {
    stops.forget(container.id());
    rules.forget(container.id());
    events.recordRemoval(container);
  }

  /** What is known of the health of a container that runs and is checked. */
  public Optional<HealthStatus> health(ContainerId id) {
    return checks.find(id);
  }

  /** What its last few checks found, oldest first. */
  public List<HealthResult> healthResults(ContainerId id) {
    return checks.results(id);
  }

  /** It is called by the checks, so it takes no lock: whoever has one may wait for them. */
  private void healthChanged(Container container, ContainerHealth rules, HealthStatus now)
      throws InterruptedException {
    events.record(
        "container." + now.state().name().toLowerCase(Locale.ROOT),
        container,
        Json.object().put("check", now.output()).build());
    if (now.state() == HealthState.UNHEALTHY && rules.action() != HealthSpec.OnUnhealthy.NONE) {
      if (rules.action() == HealthSpec.OnUnhealthy.RESTART) {
        checks.noteUnhealthy(container.id()); // its supervisor starts it again
      } else {
        stops.record(container.id());
      }
      Optional<Outcome> _ = container.stop(container.spec().stop().grace());
    }
  }

  private void drop(ContainerId id) {
    checks.end(id);
    unsupervised(id);
  }

  private void unsupervised(ContainerId id) {
    RestartSupervisor.Handle keeper = keepers.remove(id);
    if (keeper != null) {
      keeper.close();
    }
  }

  @Override
  public void close() {
    closing = true;
    checks.close();
    List.copyOf(keepers.values()).forEach(RestartSupervisor.Handle::close);
  }
}
