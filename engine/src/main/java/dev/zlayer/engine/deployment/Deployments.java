package dev.zlayer.engine.deployment;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.depend.DependencyStatuses;
import dev.zlayer.engine.service.ContainerIndex;
import dev.zlayer.engine.service.EndedReplica;
import dev.zlayer.engine.service.ServiceParts;
import dev.zlayer.engine.service.ServiceRevision;
import dev.zlayer.engine.service.ServiceRunner;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.Owner;
import dev.zlayer.task.TaskScope;
import dev.zlayer.task.Watched;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The one entry to deployments: applies files and keeps them running.
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
public final class Deployments implements AutoCloseable {
  /** So many at a time, so that what they record becomes durable together. */
  private static final int RECOVERIES = 64;

  private final DeploymentParts parts;
  private final DeploymentConfig config;
  private final DeploymentStore store;
  private final RevisionWriter writer;
  private final StatusView view;
  private final Semaphore starts;
  private final String salt;
  private final KeyedLock<String> locks = new KeyedLock<>();
  private final Map<String, LiveDeployment> live = new ConcurrentSkipListMap<>();
  private final Map<String, Owner<DeploymentRemoval>> removals = new ConcurrentHashMap<>();
  private final Watched<Long> changes = new Watched<>(0L);
  private final ContainerIndex index;
  private final Map<ServiceKey, AutoUpdateStatus> updates = new ConcurrentHashMap<>();
  private final Owner<AutoUpdater> updater;

  private Deployments(DeploymentParts parts, DeploymentConfig config) {
    this.parts = parts;
    this.config = config;
    this.store = parts.records();
    this.writer = new RevisionWriter(parts.store(), store, config.revisions());
    this.view = new StatusView(parts, updates);
    this.starts = new Semaphore(Math.max(1, config.starts()), true);
    this.salt = StoreSalt.of(parts.store(), parts.random());
    this.index = ContainerIndex.open(parts.runtime(), parts.clock(), parts.supervisor());
    this.updater = AutoUpdater.open(parts, () -> live.values(), this::update, updates);
  }

  /** Goes on with everything that the store says is wanted; returns before it is true. */
  public static Deployments open(DeploymentParts parts, DeploymentConfig config) {
    var deployments = new Deployments(parts, config);
    try {
      deployments.recover();
      return deployments;
    } catch (RuntimeException | Error e) {
      deployments.close();
      throw e;
    }
  }

  private void recover() {
    Map<String, List<ServiceKey>> services =
        ServiceRunner.stored(parts.store(), parts.clock().instant()).stream()
            .collect(Collectors.groupingBy(ServiceKey::deployment));
    try (var scope = new TaskScope("recover deployments", RECOVERIES)) {
      for (DeploymentRecord record : store.records()) {
        scope.fork(
            () -> {
              recover(record, services.getOrDefault(record.name(), List.of()));
              return record;
            });
      }
      scope.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while deployments were recovered", e);
    }
    store.opened();
    live.values().forEach(LiveDeployment::begin);
  }

  private void recover(DeploymentRecord record, List<ServiceKey> services) {
    LiveDeployment deployment = make(record);
    live.put(record.name(), deployment);
    store.newest(record).ifPresent(revision -> deployment.recover(revision, services));
    if (record.removing()) {
      remove(deployment);
    }
  }

  private LiveDeployment make(DeploymentRecord record) {
    return new LiveDeployment(parts, store, new Shared(), record);
  }

  /**
   * Wants what the file says from now on. Services that are not in it any more are taken away;
   * replicas that are as wanted stay untouched. The same file once more makes no new revision but
   * starts again what has failed.
   *
   * @throws AgentException.Conflict it is not at the revision that the caller has seen
   * @throws AgentException.InvalidSpec the file has problems; all are named
   * @throws AgentException.Unsupported fields of it cannot be honoured; all are named
   */
  public Revision up(UpRequest request) {
    DeploymentSpec spec = DeploymentFile.read(request.name(), request.file(), request.share());
    String file = new String(request.file(), StandardCharsets.UTF_8);
    var wanted = new Wanted(spec, file, request.directory(), request.share());
    return locked(
        spec.deployment(),
        () -> {
          request.after().ifPresent(seen -> requireRevision(spec.deployment(), seen));
          return revise(wanted, Optional.empty(), Optional.empty());
        });
  }

  /** For a caller that must not overwrite what it has not seen. */
  private void requireRevision(String name, long seen) {
    long now =
        Optional.ofNullable(live.get(name)).map(known -> known.record().revision()).orElse(0L);
    if (now != seen) {
      throw new AgentException.Conflict(
          "deployment '%s' has revision %d, not %d: read it again before changing it"
              .formatted(name, now, seen));
    }
  }

  /** What a revision is to be made from. */
  private record Wanted(DeploymentSpec spec, String file, Path directory, Optional<Share> share) {
    static Wanted again(Revision old) {
      return new Wanted(DeploymentFile.read(old), old.file(), old.directory(), old.share());
    }

    boolean same(Revision old) {
      return old.file().equals(file)
          && old.directory().equals(directory)
          && old.share().equals(share);
    }
  }

  private Revision revise(Wanted wanted, Optional<String> reason, Optional<String> updated) {
    DeploymentSpec spec = wanted.spec();
    String name = spec.deployment();
    Optional<LiveDeployment> known = Optional.ofNullable(live.get(name));
    if (known.isEmpty()) {
      store.requireReadable(name);
    }
    Instant now = parts.clock().instant();
    DeploymentRecord before =
        known.map(LiveDeployment::record).orElseGet(() -> DeploymentRecord.fresh(name, now));
    if (before.removing()) {
      throw new AgentException.Conflict(
          "deployment '%s' is being removed; try again when that is done".formatted(name));
    }
    Optional<Revision> newest = store.revision(name, before.revision());
    if (newest.filter(wanted::same).isPresent()
        && reason.isEmpty()
        && !DeploymentFile.asksForNewest(spec)) {
      known.orElseThrow().want(before, newest.orElseThrow(), spec, lastEvent() + 1, updated);
      return newest.orElseThrow();
    }
    var revision =
        new Revision(
            name,
            before.revision() + 1,
            now,
            reason.orElse("up"),
            wanted.directory(),
            wanted.file(),
            wanted.share());
    DeploymentRecord record = before.with(revision);
    LiveDeployment deployment = known.orElseGet(() -> make(record));
    long event = writer.write(record, revision, deployment.revisionsInUse());
    live.put(name, deployment);
    deployment.want(record, revision, spec, event, updated);
    return revision;
  }

  /** What {@link #up} would change of what runs; throws what it would throw. */
  public DeploymentDiff diff(UpRequest request) {
    return FileDiff.of(store, name -> Optional.ofNullable(live.get(name)), request);
  }

  /** Rolls the newest image of one service out; the file and other images stay. */
  private void update(ServiceKey service) {
    Revision _ =
        locked(
            service.deployment(),
            () -> {
              long number = deployment(service.deployment()).record().revision();
              Revision newest = store.revision(service.deployment(), number).orElseThrow();
              return revise(
                  Wanted.again(newest),
                  Optional.of("auto_update of " + service.service()),
                  Optional.of(service.service()));
            });
  }

  /**
   * Takes a deployment away: services in the reverse order of their dependencies, jobs, schedules,
   * network. Returns when that is recorded; {@link #awaitStable} tells when it is gone.
   *
   * @param volumes also remove its named volumes
   * @throws AgentException.NotFound there is no such deployment
   */
  public void down(String name, boolean volumes) {
    boolean _ =
        locked(
            name,
            () -> {
              LiveDeployment deployment = deployment(name);
              Instant now = parts.clock().instant();
              DeploymentRecord record = deployment.record().removing(volumes, now);
              var event = new Event(now, "deployment.removing", name, Json.object().build());
              parts
                  .store()
                  .commit(
                      new Change(
                          List.of(new Change.Put(DeploymentRecord.KIND, name, record.write())),
                          List.of(event)));
              deployment.leave(record);
              remove(deployment);
              return true;
            });
  }

  private void remove(LiveDeployment deployment) {
    deployment.leave(deployment.record());
    Owner<DeploymentRemoval> _ =
        removals.computeIfAbsent(
            deployment.record().name(),
            _ -> DeploymentRemoval.start(parts, store, deployment, changes, this::removed));
  }

  private void removed(String name) {
    live.remove(name);
    removals.remove(name);
    changed();
  }

  /**
   * Wants an earlier revision again, as a new one.
   *
   * @param revision absent is the one before the newest
   * @throws AgentException.NotFound there is no such deployment, or the revision is kept no longer
   */
  public Revision rollback(String name, Optional<Long> revision) {
    return locked(
        name,
        () -> {
          long number = revision.orElseGet(() -> deployment(name).record().revision() - 1);
          Revision old =
              store
                  .revision(name, number)
                  .orElseThrow(
                      () ->
                          number < 1
                              ? new AgentException.NotFound(
                                  "an earlier revision of deployment '%s'".formatted(name),
                                  "it was never changed")
                              : new AgentException.NotFound(
                                  "revision %d of deployment '%s'".formatted(number, name),
                                  "it never was, or is kept no longer"));
          return revise(Wanted.again(old), Optional.of("rollback to " + number), Optional.empty());
        });
  }

  public List<DeploymentStatus> list() {
    return live.values().stream().map(this::statusOf).toList();
  }

  public Optional<DeploymentStatus> find(String name) {
    return Optional.ofNullable(live.get(name)).map(this::statusOf);
  }

  /** As {@link #find}, but throws {@link AgentException.NotFound}. */
  public DeploymentStatus status(String name) {
    return find(name).orElseThrow(() -> DeploymentStore.unknown(name));
  }

  private DeploymentStatus statusOf(LiveDeployment deployment) {
    return view.of(deployment);
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
    loop(service).scale(replicas);
  }

  /** What is kept of its replicas whose containers are removed, oldest first. */
  public List<EndedReplica> ended(ServiceKey service) {
    ServiceRunner _ = loop(service);
    return EndedReplica.read(parts.store(), service);
  }

  /** As {@link #ended(ServiceKey)}, of all services that fit, in the order of their names. */
  public Map<ServiceKey, List<EndedReplica>> ended(Predicate<ServiceKey> fits) {
    List<ServiceKey> services =
        live.entrySet().stream()
            .flatMap(
                entry ->
                    entry.getValue().services().keySet().stream()
                        .map(name -> new ServiceKey(entry.getKey(), name)))
            .filter(fits)
            .sorted()
            .toList();
    return EndedReplica.read(parts.store(), services);
  }

  /** Wants the service to run, after {@link #stop} or after it was given up. */
  public void start(ServiceKey service) {
    loop(service).start();
  }

  /** Wants no replica of the service until {@link #start}; survives restarts of the agent. */
  public void stop(ServiceKey service) {
    loop(service).stop();
  }

  /** Replaces all replicas, the way an update would. */
  public void restart(ServiceKey service) {
    loop(service).restart();
  }

  /** Starts all services of a deployment, those first on whom others depend. */
  public void start(String name) {
    deployment(name).ordered().forEach(ServiceRunner::start);
  }

  /** Stops all services of a deployment, those last on whom others depend. */
  public void stop(String name) {
    deployment(name).ordered().reversed().forEach(ServiceRunner::stop);
  }

  /** Restarts all services of a deployment. */
  public void restart(String name) {
    deployment(name).ordered().forEach(ServiceRunner::restart);
  }

  private ServiceRunner loop(ServiceKey service) {
    return deployment(service.deployment()).service(service.service());
  }

  private LiveDeployment deployment(String name) {
    return Optional.ofNullable(live.get(name)).orElseThrow(() -> DeploymentStore.unknown(name));
  }

  /**
   * Blocks until the deployment is ready, has failed, or was removed; throws nothing for these.
   *
   * @param progress is told what happens meanwhile, on the thread of the caller
   * @throws AgentException.NotFound there is no such deployment
   */
  public WaitResult awaitStable(String name, Deadline deadline, Consumer<Progress> progress)
      throws InterruptedException {
    return waiter().awaitStable(name, deployment(name), deadline, progress);
  }

  /**
   * Blocks until the service, or all of the deployment, has no replica any more, was removed or is
   * wanted again; throws {@link AgentException.Timeout} at the deadline.
   */
  public void awaitStopped(String name, Optional<String> service, Deadline deadline)
      throws InterruptedException {
    waiter().awaitStopped(name, service, deadline);
  }

  private DeploymentWaiter waiter() {
    return new DeploymentWaiter(
        parts.store(), changes, name -> Optional.ofNullable(live.get(name)), this::statusOf);
  }

  /** Secrets have changed: services that use them are rolled, jobs made ahead are made anew. */
  public void secretsChanged() {
    parts.jobs().reconsider();
    live.values()
        .forEach(deployment -> deployment.services().values().forEach(ServiceRunner::reconsider));
  }

  /** Looks at the clock again; for clocks that do not go by themselves. */
  public void wake() {
    index.wake();
    updater.wake();
    live.values().forEach(LiveDeployment::wake);
  }

  /**
   * Stops every container in the reverse order of the dependencies, within the grace of each, and
   * forgets nothing: the next {@link #open} starts them again. For a machine that goes down.
   *
   * @throws AgentException.Timeout the deadline passed first
   */
  public void shutdown(Deadline deadline) throws InterruptedException {
    live.values().forEach(LiveDeployment::halt);
    long _ =
        changes.await(
            _ -> live.values().stream().allMatch(LiveDeployment::empty),
            deadline,
            "stopping all services");
  }

  /** Stops deciding; containers go on and are found by the next process over the same store. */
  @Override
  public void close() {
    updater.close();
    List.copyOf(removals.values()).forEach(Owner::close);
    live.values().forEach(LiveDeployment::close);
    index.close();
  }

  private void changed() {
    long _ = changes.update(number -> number + 1);
  }

  private long lastEvent() {
    return parts.store().commit(new Change(List.of(), List.of()));
  }

  private <T> T locked(String name, Supplier<T> work) {
    try (var _ = locks.lock(name)) {
      return work.get();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while waiting for another request");
    }
  }

  /** What all deployments have in common. */
  private final class Shared implements LiveDeployment.Context {
    @Override
    public ServiceParts serviceParts(
        DependencyStatuses dependencies,
        ServiceRevision.Lookup lookup,
        ServiceParts.Listener audience) {
      return new ServiceParts(
          parts.store(),
          parts.runtime(),
          index,
          parts.containers(),
          parts.initializer(),
          parts.rotation(),
          dependencies,
          lookup,
          starts,
          config.cores(),
          config.claims(),
          parts.hiding(),
          salt,
          audience,
          parts.replicas(),
          parts.clock(),
          parts.random(),
          parts.supervisor());
    }

    @Override
    public void changed() {
      Deployments.this.changed();
    }
  }
}
