package dev.zlayer.engine.service;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.depend.DependencyStatuses;
import dev.zlayer.engine.state.Quarantine;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.engine.state.Suspect;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.Owner;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** One service that is kept running; what is asked of it reaches its owner. */
public final class ServiceRunner implements AutoCloseable {
  /** No pause before a restart that is found in the store ends later than this. */
  private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

  private final ServiceParts parts;
  private final ServiceKey key;
  private final Owner<ServiceController> owner;
  private final DependencyStatuses.Subscription dependencies;
  private final KeyedLock.Held watching;
  private final AtomicBoolean begun = new AtomicBoolean();
  private volatile ServiceStatus status;
  private volatile ServiceReconciler reconciler;
  private volatile boolean removed;
  private volatile DesiredState.Leaving leaving = DesiredState.Leaving.NO;

  private ServiceRunner(ServiceParts parts, ServiceKey key) {
    this.parts = parts;
    this.key = key;
    ServiceRecord record = load(0, ServiceRecord.fresh(key));
    this.reconciler = new ServiceReconciler(record, parts.lookup(), parts.claims(), parts.random());
    this.status = new ServiceView(reconciler, parts.clock().instant()).status(Optional.empty(), 0);
    this.owner =
        Owner.of(
            "service " + key, parts.clock(), parts.supervisor(), (of, deaths) -> open(of, deaths));
    this.dependencies = parts.dependencies().subscribe(this::wake);
    this.watching = parts.index().watch(key, this::wake);
  }

  /** Goes on with what the store has about the service, or begins with nothing. */
  public static ServiceRunner open(ServiceParts parts, ServiceKey key) {
    ServiceRunner service = recover(parts, key);
    service.begin();
    return service;
  }

  /** As {@link #open}, but nothing is decided before {@link #begin}. */
  public static ServiceRunner recover(ServiceParts parts, ServiceKey key) {
    return new ServiceRunner(parts, key);
  }

  /** Once; again does nothing. */
  public void begin() {
    if (!begun.compareAndSet(false, true)) {
      return;
    }
    try {
      owner.start();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while a service was opened", e);
    }
  }

  private ServiceController open(Owner<ServiceController> of, int deaths) {
    ServiceRecord record = load(deaths, reconciler.record());
    var controller = new ServiceController(parts, record, of, dependencies, this::show, this::left);
    if (deaths > 0) {
      controller.listAnew();
    }
    reconciler = controller.reconciler();
    if (leaving != DesiredState.Leaving.NO) {
      controller.reconciler().desired.leave(leaving);
    }
    return controller;
  }

  private void show(ServiceStatus fresh) {
    status = fresh;
    parts.audience().changed(status());
  }

  private void left() {
    removed = true;
    ignore();
  }

  private void ignore() {
    dependencies.close();
    watching.close();
  }

  /**
   * A record that cannot be read, or that kills its owner, is put aside. What is known of the one
   * before is kept: the revision, and the last generation, since no container gets the id of
   * another.
   */
  private ServiceRecord load(int deaths, ServiceRecord before) {
    Instant now = parts.clock().instant();
    Optional<byte[]> stored = parts.store().find(ServiceCodec.KIND, key.toString());
    if (stored.isEmpty()) {
      return ServiceRecord.fresh(key);
    }
    var entry = new StateStore.Entry(key.toString(), stored.get());
    if (deaths >= Suspect.DEATHS) {
      Quarantine.putFatal(parts.store(), ServiceCodec.KIND, entry, Suspect.reason(deaths), now);
      return freshAfter(before);
    }
    try {
      return ServiceCodec.read(stored.get()).withPausesUntil(now.plus(LONGEST_PAUSE));
    } catch (RuntimeException e) {
      Quarantine.put(parts.store(), ServiceCodec.KIND, entry, e, now);
      return freshAfter(before);
    }
  }

  private ServiceRecord freshAfter(ServiceRecord before) {
    return ServiceRecord.fresh(key).aimingAt(before.revision()).withGeneration(before.generation());
  }

  /** Services that the store has something about. */
  public static List<ServiceKey> stored(StateStore store, Instant now) {
    return Quarantine.read(store, ServiceCodec.KIND, ServiceCodec::read, now).stream()
        .map(ServiceRecord::key)
        .toList();
  }

  /** What the images of the newest revision were, where the file asks for the newest. */
  public Optional<String> images() {
    ServiceRecord record = reconciler.record();
    return Optional.ofNullable(record.images().get(record.revision()))
        .filter(images -> !images.isEmpty());
  }

  /** What they are at the registry now, in the same form. Blocks while they come in. */
  public String newestImages(ServiceRevision blueprint) throws InterruptedException {
    return new Resolver(parts.runtime(), parts.containers(), parts.salt()).newest(key, blueprint);
  }

  public ServiceStatus status() {
    ServiceStatus known = status;
    // the loop may be busy: what is to be removed has no failures from the moment of the order
    return leaving == DesiredState.Leaving.NO || known.state() == ServiceState.REMOVING
        ? known
        : known.removing();
  }

  /** Whether it was told to stop and replicas are left. */
  public boolean stopping() {
    return !removed && reconciler.record().stopped() && !status.replicas().isEmpty();
  }

  /** The revisions that it needs to stay known, the wanted one first. */
  public List<Long> revisions() {
    ServiceRecord record = reconciler.record();
    var needed = new ArrayList<Long>(List.of(record.revision()));
    record.good().ifPresent(needed::add);
    return List.copyOf(needed);
  }

  /**
   * Aims at a revision; at the same one again means to try again what was given up. A removal under
   * way is taken back.
   *
   * @return false when the service was removed meanwhile: it has to be opened anew
   */
  public boolean apply(long revision) {
    return apply(revision, false);
  }

  /** As above; {@code sameImages}: those of the revision before, also where newer are asked for. */
  public boolean apply(long revision, boolean sameImages) {
    try {
      boolean _ =
          owner.ask(
              controller -> {
                controller.reconciler().desired.stay();
                leaving = controller.reconciler().desired.leaving();
                controller.change(
                    record ->
                        sameImages
                            ? record.aimingAt(revision).withImagesOf(record.revision())
                            : record.aimingAt(revision),
                    true);
                return true;
              });
      return true;
    } catch (AgentException.Internal e) {
      if (removed) {
        return false;
      }
      throw e;
    }
  }

  public void stop() {
    ask(record -> record.stopped(true), false);
  }

  public void start() {
    ask(record -> record.stopped(false), true);
  }

  public void restart() {
    ask(ServiceRecord::restarted, true);
  }

  /** Throws {@link AgentException.InvalidSpec} when the file does not leave the number open. */
  public void scale(int replicas) {
    boolean _ =
        owner.ask(
            controller -> {
              DesiredState desired = controller.reconciler().desired;
              controller.change(
                  record -> ManualScale.scaled(record, desired.wantedSpec(), replicas), false);
              return true;
            });
  }

  private void ask(UnaryOperator<ServiceRecord> change, boolean anew) {
    boolean _ =
        owner.ask(
            controller -> {
              controller.change(change, anew);
              return true;
            });
  }

  /** What the containers are made from may have changed. */
  public void reconsider() {
    post(owned -> owned.desired.reconsider());
  }

  /** Stops all containers when those who depend on them are gone, and forgets the service. */
  public void remove() {
    leave(DesiredState.Leaving.FOR_GOOD);
  }

  /** Stops all containers likewise, and forgets nothing. */
  public void halt() {
    leave(DesiredState.Leaving.FOR_NOW);
  }

  private void leave(DesiredState.Leaving how) {
    leaving = how;
    post(owned -> owned.desired.leave(how));
  }

  /** Looks again. */
  public void wake() {
    post(_ -> {});
  }

  private void post(Consumer<ServiceReconciler> news) {
    owner.tell(controller -> controller.accept((owned, _) -> news.accept(owned)));
  }

  /** Leaves all containers as they are and returns when no thread is left. */
  @Override
  public void close() {
    ignore();
    owner.close();
  }
}
