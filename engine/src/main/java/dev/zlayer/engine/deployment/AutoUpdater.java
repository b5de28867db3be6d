package dev.zlayer.engine.deployment;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.service.ServiceRevision;
import dev.zlayer.engine.service.ServiceRunner;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.schedule.CronExpression;
import dev.zlayer.schedule.CronSchedule;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.task.Owner;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Asks registries for newer images when the file says so, and rolls out what it finds. An image
 * that was tried and taken back is not tried again: it is the one that is known.
 */
final class AutoUpdater implements Owner.State {
  /** A file or a clock that changed is noticed after this time. */
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(5);

  private static final Set<ServiceState> BUSY =
      Set.of(
          ServiceState.WAITING,
          ServiceState.DEPLOYING,
          ServiceState.REMOVING,
          ServiceState.STOPPED);

  /** Rolls the newest image of a service out, as a revision of its own. */
  @FunctionalInterface
  interface RollOut {
    void update(ServiceKey service);
  }

  /** One service whose image is looked after. */
  private static final class Watch {
    private final CronExpression expression;
    private Optional<Instant> next;
    private Optional<Instant> checked = Optional.empty();
    private Optional<String> result = Optional.empty();
    private boolean checking;
    private boolean failing;

    Watch(CronExpression expression, Instant now) {
      this.expression = expression;
      this.next = next(now);
    }

    private Optional<Instant> next(Instant now) {
      return new CronSchedule(expression, ZoneOffset.UTC).nextAfter(now);
    }

    AutoUpdateStatus status() {
      return new AutoUpdateStatus(expression.toString(), next, checked, result);
    }
  }

  private final DeploymentParts parts;
  private final Supplier<Collection<LiveDeployment>> live;
  private final RollOut rollOut;
  private final Owner<AutoUpdater> owner;
  private final Map<ServiceKey, AutoUpdateStatus> shown;
  private final Map<ServiceKey, Watch> watches = new HashMap<>();

  private AutoUpdater(
      DeploymentParts parts,
      Supplier<Collection<LiveDeployment>> live,
      RollOut rollOut,
      Owner<AutoUpdater> owner,
      Map<ServiceKey, AutoUpdateStatus> shown) {
    this.parts = parts;
    this.live = live;
    this.rollOut = rollOut;
    this.owner = owner;
    this.shown = shown;
  }

  /**
   * Begins to look after all deployments that there are, and will be.
   *
   * @param shown gets where each service stands
   */
  static Owner<AutoUpdater> open(
      DeploymentParts parts,
      Supplier<Collection<LiveDeployment>> live,
      RollOut rollOut,
      Map<ServiceKey, AutoUpdateStatus> shown) {
    try {
      return Owner.<AutoUpdater>of(
              "auto update",
              parts.clock(),
              parts.supervisor(),
              (owner, _) -> new AutoUpdater(parts, live, rollOut, owner, shown))
          .start();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while deployments were opened", e);
    }
  }

  @Override
  public Duration round() {
    Instant now = parts.clock().instant();
    var wanted = new HashSet<ServiceKey>();
    Duration wait = LONGEST_WAIT;
    for (LiveDeployment deployment : live.get()) {
      Map<String, ServiceSpec> services =
          deployment.spec().map(spec -> spec.services()).orElse(Map.of());
      for (Map.Entry<String, ServiceSpec> service : services.entrySet()) {
        Optional<CronExpression> when = service.getValue().lifecycle().update().autoUpdate();
        if (when.isPresent() && !deployment.record().removing()) {
          var key = new ServiceKey(deployment.record().name(), service.getKey());
          wanted.add(key);
          Watch watch = watch(key, when.get(), now);
          due(key, watch, deployment, service.getValue(), now);
          Duration left = watch.next.map(at -> Duration.between(now, at)).orElse(LONGEST_WAIT);
          wait = left.compareTo(wait) < 0 ? left : wait;
          shown.put(key, watch.status());
        }
      }
    }
    watches.keySet().retainAll(wanted);
    shown.keySet().retainAll(wanted);
    return wait.isNegative() ? Duration.ZERO : wait;
  }

  private Watch watch(ServiceKey key, CronExpression when, Instant now) {
    Watch known = watches.get(key);
    if (known == null || !known.expression.equals(when)) {
      known = new Watch(when, now);
      watches.put(key, known);
    }
    return known;
  }

  private void due(
      ServiceKey key, Watch watch, LiveDeployment deployment, ServiceSpec spec, Instant now) {
    if (watch.next.filter(at -> !now.isBefore(at)).isEmpty()) {
      return;
    }
    watch.next = watch.next(now);
    ServiceRunner runner = deployment.services().get(key.service());
    Optional<String> images = runner == null ? Optional.empty() : runner.images();
    if (runner == null || images.isEmpty() || watch.checking) {
      return; // it has not come so far
    }
    if (BUSY.contains(runner.status().state())) {
      watch.result = Optional.of("not checked, it was being changed or is stopped");
      return;
    }
    watch.checking = true;
    var blueprint =
        new ServiceRevision(deployment.record().revision(), spec, deployment.directory());
    owner.spawn(
        "update check of " + key,
        () -> found(key, images.get(), runner.newestImages(blueprint)),
        error -> state -> state.failed(key, error));
  }

  private static Consumer<AutoUpdater> found(ServiceKey key, String before, String now) {
    return state -> {
      if (before.equals(now)) {
        state.ended(key, "up to date");
      } else {
        state.newer(key, before, now);
      }
    };
  }

  private void newer(ServiceKey key, String before, String now) {
    tell("service.update_found", key, Json.object().put("from", before).put("to", now).build());
    try {
      rollOut.update(key);
      ended(key, "rolled out " + now);
    } catch (AgentException e) {
      failed(key, e);
    }
  }

  private void ended(ServiceKey key, String result) {
    Watch watch = watches.get(key);
    if (watch != null) {
      watch.checking = false;
      watch.failing = false;
      watch.checked = Optional.of(parts.clock().instant());
      watch.result = Optional.of(result);
    }
  }

  private void failed(ServiceKey key, AgentException error) {
    Watch watch = watches.get(key);
    if (watch == null) {
      return;
    }
    if (!watch.failing) {
      tell(
          "service.update_check_failed",
          key,
          Json.object().put("reason", String.valueOf(error.getMessage())).build());
    }
    ended(key, "failed: " + error.getMessage());
    watch.failing = true;
  }

  private void tell(String kind, ServiceKey key, Json detail) {
    parts
        .store()
        .commit(Change.of(new Event(parts.clock().instant(), kind, key.toString(), detail)));
  }
}
