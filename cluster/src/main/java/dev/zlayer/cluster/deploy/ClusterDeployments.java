package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.service.ScaleSpec;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeSet;
import java.util.function.UnaryOperator;

/**
 * The requests about deployments of a cluster, from any node. Each is one transaction on what is
 * desired; everything else follows from that.
 */
public final class ClusterDeployments {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final int KEPT = 10;
  private static final int MOST_REPLICAS = 1000;

  private final ClusterStore store;
  private final RetriedChange attempt;
  private final InstantSource clock;

  public ClusterDeployments(ClusterStore store, InstantSource clock) {
    this.store = store;
    this.attempt = new RetriedChange(store);
    this.clock = clock;
  }

  public ClusterState state() throws InterruptedException {
    return ClusterState.read(store, Deadline.after(LIMIT));
  }

  public Optional<Desired> find(String name) throws InterruptedException {
    return store
        .find(StoreKeys.DESIRED + name, Deadline.after(LIMIT))
        .map(entry -> Desired.parse(entry.value()));
  }

  /** All files that are kept, oldest first. */
  public List<Desired.File> files(String name) throws InterruptedException {
    return store.list(StoreKeys.files(name), Deadline.after(LIMIT)).entries().stream()
        .map(entry -> Desired.File.parse(entry.value()))
        .toList();
  }

  /** What the newest file says. */
  public DeploymentSpec spec(Desired desired) throws InterruptedException {
    Desired.File file =
        store
            .find(StoreKeys.file(desired.name(), desired.revision()), Deadline.after(LIMIT))
            .map(entry -> Desired.File.parse(entry.value()))
            .orElseThrow(() -> unknown(desired.name()));
    return ClusterFile.read(desired.name(), file.text().getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Wants what the file says from now on. The same file once more makes no new revision.
   *
   * @param seen the revision that the caller has seen, 0 for none
   * @throws AgentException.Unsupported the file has something that a cluster cannot honour
   */
  public Desired up(String name, byte[] file, String directory, OptionalLong seen)
      throws InterruptedException {
    DeploymentSpec spec = ClusterFile.read(name, file);
    String text = new String(file, StandardCharsets.UTF_8);
    return revise(name, text, directory, "up", seen, !asksForNewest(spec));
  }

  private static boolean asksForNewest(DeploymentSpec spec) {
    return spec.services().values().stream()
        .map(service -> service.image().pullPolicy())
        .anyMatch(policy -> policy == PullPolicy.ALWAYS || policy == PullPolicy.NEWER);
  }

  private Desired revise(
      String name, String text, String directory, String reason, OptionalLong seen, boolean once)
      throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    Optional<Desired.File> tried = Optional.empty();
    while (true) {
      Optional<Entry> entry = store.find(StoreKeys.DESIRED + name, deadline);
      Optional<Desired> before = entry.map(found -> Desired.parse(found.value()));
      long revision = before.map(Desired::revision).orElse(0L);
      if (before.isPresent() && tried.isPresent() && files(name).contains(tried.get())) {
        return before.get(); // nobody had answered
      }
      if (seen.isPresent() && seen.getAsLong() != revision) {
        throw new AgentException.Conflict(
            "deployment '%s' has revision %d, not %d: read it again before changing it"
                .formatted(name, revision, seen.getAsLong()));
      }
      before.ifPresent(ClusterDeployments::requireStaying);
      List<Desired.File> files = files(name);
      boolean same =
          once
              && files.stream()
                  .filter(one -> one.number() == revision)
                  .anyMatch(one -> one.text().equals(text) && one.directory().equals(directory));
      if (same && tryAgain(name, entry, deadline)) {
        return before.orElseThrow();
      }
      if (same) {
        continue; // somebody else was faster
      }
      Instant now = clock.instant();
      Desired next = before.orElseGet(() -> fresh(name, now)).revised(now);
      var made = new Desired.File(name, next.revision(), now, reason, directory, text);
      var changes = new ArrayList<Change>();
      changes.add(new Change.Put(StoreKeys.DESIRED + name, next.json()));
      changes.add(new Change.Put(StoreKeys.file(name, next.revision()), made.json()));
      expired(name, files, deadline)
          .forEach(number -> changes.add(new Change.Delete(StoreKeys.file(name, number))));
      if (attempt.made(List.of(unchanged(name, entry)), changes, deadline)) {
        return next;
      }
      tried = Optional.of(made);
    }
  }

  /** Jobs that failed while services wait for them are run again when somebody asks for it. */
  private boolean tryAgain(String name, Optional<Entry> desired, Deadline deadline)
      throws InterruptedException {
    List<Change> changes =
        store.list(StoreKeys.DEPENDENCIES + name + "/", deadline).entries().stream()
            .filter(entry -> DependencyRun.parse(entry.value()).failed().isPresent())
            .<Change>map(entry -> new Change.Delete(entry.key()))
            .toList();
    return changes.isEmpty()
        || store.transact(List.of(unchanged(name, desired)), changes, deadline).applied();
  }

  private static Desired fresh(String name, Instant now) {
    return new Desired(name, 0, now, now, Map.of(), List.of(), Optional.empty());
  }

  /** Files that nobody needs: those that nodes run stay. */
  private List<Long> expired(String name, List<Desired.File> files, Deadline deadline)
      throws InterruptedException {
    if (files.size() < KEPT) {
      return List.of();
    }
    var used = new TreeSet<Long>();
    ClusterState.read(store, deadline)
        .assignments(name)
        .values()
        .forEach(one -> used.add(one.revision()));
    return files.subList(0, files.size() - KEPT + 1).stream()
        .map(Desired.File::number)
        .filter(number -> !used.contains(number))
        .toList();
  }

  /** Wants an earlier revision again, as a new one. */
  public Desired rollback(String name, Optional<Long> revision) throws InterruptedException {
    Desired desired = require(name);
    long number = revision.orElse(desired.revision() - 1);
    Desired.File old =
        files(name).stream()
            .filter(one -> one.number() == number)
            .findFirst()
            .orElseThrow(
                () ->
                    new AgentException.NotFound(
                        "revision %d of deployment '%s'".formatted(number, name),
                        "'zlayer revisions' lists those there are"));
    return revise(
        name, old.text(), old.directory(), "rollback to " + number, OptionalLong.empty(), false);
  }

  /** Wants that many replicas of a service until somebody says otherwise. */
  public void scale(String name, String service, int replicas) throws InterruptedException {
    ServiceSpec spec = service(name, service);
    if (!spec.lifecycle().replicaGroups().isEmpty()) {
      throw refused(name, service, "its replica groups have fixed counts, change them in the file");
    }
    if (spec.lifecycle().single() && replicas > 1) {
      throw refused(name, service, "its file has 'single_instance: true', which means one at most");
    }
    switch (spec.lifecycle().scale()) {
      case ScaleSpec.Fixed fixed -> {
        if (fixed.replicas() != replicas) {
          throw refused(
              name,
              service,
              "its file fixes the number to %d, write 'mode: manual' to choose it by hand"
                  .formatted(fixed.replicas()));
        }
      }
      case ScaleSpec.Adaptive adaptive ->
          requireWithin(name, service, replicas, adaptive.min(), adaptive.max());
      case ScaleSpec.Manual _ -> requireWithin(name, service, replicas, 0, MOST_REPLICAS);
    }
    change(
        name,
        desired -> {
          var scale = new HashMap<>(desired.scale());
          scale.put(service, replicas);
          return desired.with(scale, desired.stopped(), clock.instant());
        });
  }

  private static void requireWithin(String name, String service, int replicas, int min, int max) {
    if (replicas < min || replicas > max) {
      throw refused(
          name,
          service,
          "%d is not between %d and %d, as its file wants".formatted(replicas, min, max));
    }
  }

  private static AgentException refused(String name, String service, String reason) {
    return new AgentException.InvalidSpec(
        "service '%s/%s' cannot be scaled: %s".formatted(name, service, reason));
  }

  /** Stops services until they are started again; all of them when none is named. */
  public void stop(String name, Optional<String> service) throws InterruptedException {
    List<String> meant = services(name, service);
    change(
        name,
        desired -> {
          var stopped = new TreeSet<>(desired.stopped());
          stopped.addAll(meant);
          return desired.with(desired.scale(), List.copyOf(stopped), clock.instant());
        });
  }

  /** Starts services that were stopped. */
  public void start(String name, Optional<String> service) throws InterruptedException {
    List<String> meant = services(name, service);
    change(
        name,
        desired ->
            desired.with(
                desired.scale(),
                desired.stopped().stream().filter(one -> !meant.contains(one)).toList(),
                clock.instant()));
  }

  private List<String> services(String name, Optional<String> service) throws InterruptedException {
    if (service.isPresent()) {
      ServiceSpec _ = service(name, service.get());
      return List.of(service.get());
    }
    return spec(require(name)).services().entrySet().stream()
        .filter(one -> one.getValue().rtype() == RunType.SERVICE)
        .map(Map.Entry::getKey)
        .toList();
  }

  private ServiceSpec service(String name, String service) throws InterruptedException {
    return Optional.ofNullable(spec(require(name)).services().get(service))
        .filter(found -> found.rtype() == RunType.SERVICE)
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "service '%s/%s'".formatted(name, service), "it is not in the file"));
  }

  /**
   * Removes a deployment from all nodes. When nobody answers it may have been done, and somebody
   * else may have begun another one by that name: this one alone is removed.
   */
  public void down(String name, boolean volumes) throws InterruptedException {
    Instant now = clock.instant();
    Deadline deadline = Deadline.after(LIMIT);
    Desired first = require(name);
    while (true) {
      Optional<Entry> entry = store.find(StoreKeys.DESIRED + name, deadline);
      Optional<Desired> before =
          entry
              .map(found -> Desired.parse(found.value()))
              .filter(one -> one.created().equals(first.created()));
      if (before.isEmpty()
          || attempt.made(
              List.of(unchanged(name, entry)),
              List.of(
                  new Change.Put(
                      StoreKeys.DESIRED + name, before.get().removing(volumes, now).json())),
              deadline)) {
        return;
      }
    }
  }

  private void change(String name, UnaryOperator<Desired> change) throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    while (true) {
      Optional<Entry> entry = store.find(StoreKeys.DESIRED + name, deadline);
      Desired before =
          entry.map(found -> Desired.parse(found.value())).orElseThrow(() -> unknown(name));
      requireStaying(before);
      // once more does no harm where nobody had answered
      String next = change.apply(before).json();
      if (attempt.made(
          List.of(unchanged(name, entry)),
          List.of(new Change.Put(StoreKeys.DESIRED + name, next)),
          deadline)) {
        return;
      }
    }
  }

  private static Condition unchanged(String name, Optional<Entry> entry) {
    return entry
        .<Condition>map(found -> new Condition.Unchanged(found.key(), found.modified()))
        .orElseGet(() -> new Condition.Absent(StoreKeys.DESIRED + name));
  }

  private Desired require(String name) throws InterruptedException {
    return find(name).orElseThrow(() -> unknown(name));
  }

  private static void requireStaying(Desired desired) {
    if (desired.removing().isPresent()) {
      throw new AgentException.Conflict(
          "deployment '%s' is being removed; try again when that is done"
              .formatted(desired.name()));
    }
  }

  private static AgentException unknown(String name) {
    return new AgentException.NotFound(
        "deployment '" + name + "'", "'zlayer status' lists those there are");
  }
}
