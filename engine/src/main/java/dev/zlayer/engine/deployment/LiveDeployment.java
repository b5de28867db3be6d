package dev.zlayer.engine.deployment;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.depend.DependencyOrder;
import dev.zlayer.engine.depend.DependencyStatuses;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.service.Failure;
import dev.zlayer.engine.service.RolloutStatus;
import dev.zlayer.engine.service.ServiceParts;
import dev.zlayer.engine.service.ServiceRevision;
import dev.zlayer.engine.service.ServiceRunner;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.engine.service.ServiceStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.PullEvent;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.service.DependsSpec;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * The loops of one deployment. Changed only by whoever holds the deployment's lock in {@link
 * Deployments}; looked at by everybody.
 */
final class LiveDeployment implements ServiceParts.Listener, AutoCloseable {
  private final DeploymentParts parts;
  private final DeploymentStore store;
  private final Context context;
  private final DependencyStatuses dependencies = new DependencyStatuses();
  private final Map<String, ServiceRunner> services = new ConcurrentHashMap<>();
  private final Map<String, DependencyJob.Handle> gates = new ConcurrentHashMap<>();
  private final ParsedRevisions parsed = new ParsedRevisions();
  private final List<Consumer<Progress>> listeners = new CopyOnWriteArrayList<>();
  private volatile DeploymentRecord record;
  private volatile Path directory = Path.of("/");
  private volatile Optional<Share> share = Optional.empty();
  private volatile Optional<DeploymentSpec> spec = Optional.empty();
  private volatile Optional<AgentException> problem = Optional.empty();
  private volatile Optional<RemovalDelay> delay = Optional.empty();
  private volatile boolean leaving;
  private volatile long eventsBefore;

  /**
   * Why the removal has not ended.
   *
   * @param stuck somebody has to do something about it; otherwise it takes its time
   */
  record RemovalDelay(Failure reason, boolean stuck) {}

  /** What all deployments share. */
  interface Context {
    ServiceParts serviceParts(
        DependencyStatuses dependencies,
        ServiceRevision.Lookup lookup,
        ServiceParts.Listener audience);

    /** Something looks different. */
    void changed();
  }

  LiveDeployment(
      DeploymentParts parts, DeploymentStore store, Context context, DeploymentRecord record) {
    this.parts = parts;
    this.store = store;
    this.context = context;
    this.record = record;
  }

  DeploymentRecord record() {
    return record;
  }

  /** What of it runs here, when the rest runs on other nodes. */
  Optional<Share> share() {
    return share;
  }

  Optional<DeploymentSpec> spec() {
    return spec;
  }

  /** Where relative paths of the newest revision's file start. */
  Path directory() {
    return directory;
  }

  Optional<AgentException> problem() {
    return problem;
  }

  Optional<RemovalDelay> delay() {
    return delay;
  }

  void removalDelayed(AgentException reason, boolean stuck, Instant now) {
    delay = Optional.of(new RemovalDelay(Failure.of(reason, now), stuck));
    context.changed();
  }

  /** Revisions that services still run or may return to. */
  Set<Long> revisionsInUse() {
    return services().values().stream()
        .flatMap(runner -> runner.revisions().stream())
        .collect(Collectors.toSet());
  }

  Map<String, ServiceRunner> services() {
    return services;
  }

  /** Whether that service, or any, was told to stop and has replicas left. */
  boolean stopping(Optional<String> service) {
    return services.entrySet().stream()
        .filter(entry -> service.map(entry.getKey()::equals).orElse(true))
        .anyMatch(entry -> entry.getValue().stopping());
  }

  Map<String, DependencyJob.Handle> gates() {
    return gates;
  }

  DependencyStatuses dependencies() {
    return dependencies;
  }

  /** The number of the last event before the newest revision was wanted. */
  long eventsBefore() {
    return eventsBefore;
  }

  /**
   * Goes on with what the store has. Services that have what they need decide nothing before {@link
   * #begin}: with thousands of deployments their work would hold up the start.
   */
  void recover(Revision newest, List<ServiceKey> stored) {
    directory = newest.directory();
    share = newest.share();
    for (ServiceKey key : stored) {
      services.put(key.service(), ServiceRunner.recover(serviceParts(), key));
    }
    try {
      DeploymentSpec known = store.spec(newest);
      parsed.add(newest, known);
      spec = Optional.of(known);
      if (!record.removing()) {
        bring(false, Optional.empty());
      }
    } catch (AgentException e) {
      problem = Optional.of(e);
    }
    context.changed();
  }

  void begin() {
    services.values().forEach(ServiceRunner::begin);
  }

  /**
   * Wants this from now on; it is durable already.
   *
   * @param updated the only service whose image may be another one, if it is about that
   */
  void want(
      DeploymentRecord record,
      Revision revision,
      DeploymentSpec spec,
      long event,
      Optional<String> updated) {
    this.record = record;
    this.directory = revision.directory();
    this.share = revision.share();
    parsed.add(revision, spec);
    this.spec = Optional.of(spec);
    this.problem = Optional.empty();
    this.eventsBefore = Math.max(0, event - 1);
    parts.jobs().define(record.name(), DeploymentStore.jobs(spec, directory, share));
    parts.cron().define(record.name(), DeploymentStore.schedules(spec, share));
    bring(true, updated);
    context.changed();
  }

  private void bring(boolean again, Optional<String> updated) {
    DeploymentSpec wanted = spec.orElseThrow();
    // those who are waited for first, so that nobody sees what they told before
    gate(wanted, again);
    Set<String> names = new TreeSet<>();
    for (String name : DependencyOrder.of(wanted.services())) {
      if (type(wanted, name).equals(Optional.of(RunType.SERVICE))) {
        names.add(name);
        aim(name, again, updated.filter(only -> !only.equals(name)).isPresent());
      }
    }
    services.forEach(
        (name, loop) -> {
          if (!names.contains(name)) {
            loop.remove();
          }
        });
  }

  private void aim(String name, boolean again, boolean sameImages) {
    while (true) {
      ServiceRunner loop =
          services.computeIfAbsent(
              name, _ -> ServiceRunner.open(serviceParts(), new ServiceKey(record.name(), name)));
      boolean there = loop.revisions().getFirst() == record.revision();
      ServiceState state = loop.status().state();
      boolean fine =
          (state == ServiceState.RUNNING && loop.status().rollout().isEmpty())
              || state == ServiceState.IDLE
              || state == ServiceState.STOPPED;
      boolean ask = !there || (again && !fine);
      if (!ask) {
        return;
      }
      loop.begin();
      if (loop.apply(record.revision(), sameImages)) {
        return;
      }
      // its removal ended meanwhile, and the loop with it: the next one begins with nothing
      services.remove(name, loop);
    }
  }

  private ServiceParts serviceParts() {
    return context.serviceParts(dependencies, this::blueprint, this);
  }

  private Optional<ServiceRevision> blueprint(String service, long revision) {
    if (revision == 0) {
      return Optional.empty(); // a new service, before it was given a revision: none is stored
    }
    try {
      return parsed
          .find(revision, () -> store.revision(record.name(), revision))
          .flatMap(
              known ->
                  Optional.ofNullable(known.spec().services().get(service))
                      .filter(found -> found.rtype() == RunType.SERVICE)
                      .map(
                          found ->
                              new ServiceRevision(
                                  revision,
                                  found,
                                  known.directory(),
                                  known.share().map(share -> share.part(service, found)))));
    } catch (AgentException _) {
      // this program does not take a file that another one took
      return Optional.empty();
    }
  }

  /** Jobs that somebody waits for. */
  private void gate(DeploymentSpec wanted, boolean again) {
    Set<String> needed =
        wanted.services().values().stream()
            .flatMap(service -> service.lifecycle().depends().stream())
            .map(DependsSpec::service)
            .filter(name -> type(wanted, name).equals(Optional.of(RunType.JOB)))
            .collect(Collectors.toSet());
    gates.forEach(
        (name, loop) -> {
          if (!needed.contains(name)) {
            loop.close();
            gates.remove(name);
          }
        });
    for (String name : needed) {
      ServiceSpec job = Optional.ofNullable(wanted.services().get(name)).orElseThrow();
      DependencyJob.Handle known = gates.get(name);
      if (known != null) {
        known.want(record.revision(), job, again);
      } else {
        var loop =
            new DependencyJob.Handle(
                parts,
                dependencies,
                new JobKey(record.name(), name),
                record.revision(),
                job,
                context::changed);
        gates.put(name, loop);
        loop.start();
      }
    }
  }

  private static Optional<RunType> type(DeploymentSpec spec, String name) {
    return Optional.ofNullable(spec.services().get(name)).map(ServiceSpec::rtype);
  }

  /** Everything goes away, those first on whom nobody depends. */
  void leave(DeploymentRecord record) {
    this.record = record;
    leaving = true;
    gates.values().forEach(DependencyJob.Handle::close);
    gates.clear();
    services.values().forEach(ServiceRunner::remove);
    context.changed();
  }

  /** All containers stop in the same order; nothing is forgotten. */
  void halt() {
    leaving = true;
    gates.values().forEach(DependencyJob.Handle::close);
    gates.clear();
    services.values().forEach(ServiceRunner::halt);
  }

  boolean empty() {
    return services.isEmpty();
  }

  /** Its services, those first on whom others depend. */
  List<ServiceRunner> ordered() {
    List<String> order = spec.map(known -> DependencyOrder.of(known.services())).orElse(List.of());
    return services.entrySet().stream()
        .sorted(Comparator.comparingInt(entry -> order.indexOf(entry.getKey())))
        .map(Map.Entry::getValue)
        .toList();
  }

  ServiceRunner service(String name) {
    return Optional.ofNullable(services.get(name))
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "service '%s/%s'".formatted(record.name(), name), "it is not in the file"));
  }

  /** Services that run an earlier file because the newest was rolled back. */
  Map<String, FileDiff.RolledBack> rolledBack() {
    Map<String, FileDiff.RolledBack> all = new HashMap<>();
    services.forEach(
        (name, runner) ->
            runner
                .status()
                .rollout()
                .flatMap(RolloutStatus::rolledBackTo)
                .flatMap(number -> store.revision(record.name(), number))
                .map(old -> new FileDiff.RolledBack(old.number(), FileDiff.Side.of(old)))
                .ifPresent(earlier -> all.put(name, earlier)));
    return all;
  }

  void listen(Consumer<Progress> listener) {
    listeners.add(listener);
  }

  void ignore(Consumer<Progress> listener) {
    listeners.remove(listener);
  }

  @Override
  public void changed(ServiceStatus status) {
    listeners.forEach(listener -> listener.accept(new Progress.Changed(status)));
    context.changed();
  }

  @Override
  public void pulling(String service, String image, PullEvent event) {
    if (!listeners.isEmpty()) {
      var progress = new Progress.Pulling(service, image, event);
      listeners.forEach(listener -> listener.accept(progress));
      context.changed();
    }
  }

  @Override
  public void gone(String service) {
    services.remove(service);
    context.changed();
  }

  @Override
  public Set<String> dependants(String service) {
    if (!leaving) {
      return Set.of();
    }
    return spec.stream()
        .flatMap(known -> known.services().entrySet().stream())
        .filter(
            entry ->
                entry.getValue().rtype() == RunType.SERVICE
                    && services.containsKey(entry.getKey())
                    && entry.getValue().lifecycle().depends().stream()
                        .anyMatch(depends -> depends.service().equals(service)))
        .map(Map.Entry::getKey)
        .collect(Collectors.toSet());
  }

  void wake() {
    services.values().forEach(ServiceRunner::wake);
    gates.values().forEach(DependencyJob.Handle::wake);
  }

  @Override
  public void close() {
    gates.values().forEach(DependencyJob.Handle::close);
    services.values().forEach(ServiceRunner::close);
  }
}
