package dev.zlayer.daemon.volume;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Mount;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Quarantine;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Pausable;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Threads;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Those who may write to a volume: makes them hold still and continue. Who is to be continued is
 * durable before the first one is touched, so that a killed agent's successor does it.
 */
public final class VolumeUsers {
  /** How those who write are kept from it. */
  public enum Quiesce {
    PAUSE,
    STOP
  }

  private static final String KIND = "volume.quiesced";

  private static final StoredFormat FORMAT = StoredFormat.unmarked("the list of a volume's users");
  private static final Duration STOP_LIMIT = Duration.ofMinutes(10);

  private final ContainerRuntime runtime;
  private final Deployments deployments;
  private final StandaloneContainers standalone;
  private final StateStore store;

  /** One at a time: who continues its containers must not continue those of another. */
  private final ReentrantLock turn = new ReentrantLock();

  public VolumeUsers(
      ContainerRuntime runtime,
      Deployments deployments,
      StandaloneContainers standalone,
      StateStore store) {
    this.runtime = runtime;
    this.deployments = deployments;
    this.standalone = standalone;
    this.store = store;
  }

  /** Continues what an agent that was killed had paused or stopped. */
  public void recover() throws InterruptedException {
    for (StateStore.Entry entry : store.list(KIND)) {
      Json note;
      try {
        note = FORMAT.upgrade(JsonText.parse(entry.value()), "state.db");
      } catch (AgentException e) {
        Quarantine.put(store, KIND, entry, e, Instant.now());
        continue;
      }
      resume(entry.key(), note);
    }
  }

  /** Something that takes its time while nobody writes. */
  @FunctionalInterface
  public interface Work {
    void run() throws java.io.IOException, InterruptedException;
  }

  /** The containers that run, or are paused, and mount the volume. */
  public List<Container> of(String volume) {
    return runtime.list().stream()
        .filter(container -> container.status().alive() && mounts(container, volume))
        .toList();
  }

  private static boolean mounts(Container container, String volume) {
    return container.spec().fileSystem().mounts().stream()
        .anyMatch(
            mount -> mount instanceof Mount.Named(String name, _, _, _) && name.equals(volume));
  }

  /**
   * Whether {@link #quiesced} can be done.
   *
   * @throws AgentException.Conflict somebody uses it who cannot be treated so
   */
  public void require(String volume, Optional<Quiesce> how) {
    List<Container> users = of(volume);
    if (how.isEmpty() && !users.isEmpty()) {
      throw new AgentException.Conflict(
          "volume '%s' is used by %s, which may write to it: choose --pause or --stop"
              .formatted(volume, names(users)));
    }
    for (Container user : users) {
      if (how.equals(Optional.of(Quiesce.STOP)) && !restartable(user)) {
        throw new AgentException.Conflict(
            "volume '%s' is used by %s, which cannot be started again after a stop: wait for its end or choose --pause"
                .formatted(volume, user.id()));
      }
      if (how.equals(Optional.of(Quiesce.PAUSE)) && !(user instanceof Pausable)) {
        throw new AgentException.Conflict(
            "volume '%s' is used by %s, which cannot be paused: choose --stop"
                .formatted(volume, user.id()));
      }
    }
  }

  static String names(List<Container> containers) {
    return String.join(
        ", ", containers.stream().map(container -> container.id().toString()).sorted().toList());
  }

  private boolean restartable(Container container) {
    return StandaloneContainers.standalone(container.id())
        ? !standalone.removedAfterExit(container)
        : service(container.id()).isPresent();
  }

  /** The service that keeps it running; none for jobs and containers without a deployment. */
  private Optional<ServiceKey> service(ContainerId id) {
    boolean replica = !id.role().equals(ContainerId.JOB_ROLE);
    return replica && deployments.find(id.deployment()).isPresent()
        ? Optional.of(new ServiceKey(id.deployment(), id.service()))
        : Optional.empty();
  }

  /** Does something while nobody writes to the volume; whoever was touched continues after it. */
  public void quiesced(String volume, Quiesce how, Work work)
      throws java.io.IOException, InterruptedException {
    turn.lockInterruptibly();
    try {
      require(volume, Optional.of(how));
      List<Container> users =
          of(volume).stream().filter(user -> how == Quiesce.STOP || !paused(user)).toList();
      Json note = note(how, users);
      store.commit(Change.of(new Change.Put(KIND, volume, JsonText.bytes(note))));
      try {
        for (Container user : users) {
          hold(user, how);
        }
        work.run();
      } finally {
        Threads.complete(() -> resume(volume, note));
      }
    } finally {
      turn.unlock();
    }
  }

  private static boolean paused(Container container) {
    return container.status() instanceof ContainerStatus.Paused;
  }

  private Json note(Quiesce how, List<Container> users) {
    return Json.object()
        .put("how", how)
        .put(
            "services",
            users.stream()
                .flatMap(user -> service(user.id()).stream())
                .distinct()
                .map(key -> Json.of(List.of(key.deployment(), key.service())))
                .toList())
        .put("containers", users.stream().map(user -> user.id().path()).toList())
        .build();
  }

  private void hold(Container user, Quiesce how) throws InterruptedException {
    Optional<ServiceKey> service = service(user.id());
    if (how == Quiesce.PAUSE) {
      if (user instanceof Pausable pausable) {
        pausable.pause();
      }
    } else if (service.isPresent()) {
      deployments.stop(service.get());
      deployments.awaitStopped(
          service.get().deployment(),
          Optional.of(service.get().service()),
          Deadline.after(STOP_LIMIT));
    } else {
      Optional<Outcome> _ = standalone.stop(user, Optional.empty(), user.spec().stop().grace());
    }
  }

  private void resume(String volume, Json note) throws InterruptedException {
    boolean paused = note.at("how").string().equals(Optional.of("pause"));
    List<String> paths = note.at("containers").strings();
    for (Container container : runtime.list()) {
      if (paths.contains(container.id().path())) {
        resume(container, paused);
      }
    }
    if (!paused) {
      for (Json key : note.at("services").items()) {
        List<String> parts = key.strings();
        try {
          deployments.start(new ServiceKey(parts.get(0), parts.get(1)));
        } catch (AgentException.NotFound _) {
          // removed meanwhile
        }
      }
    }
    store.commit(Change.of(new Change.Delete(KIND, volume)));
  }

  private void resume(Container container, boolean paused) throws InterruptedException {
    try {
      if (paused && container instanceof Pausable pausable && paused(container)) {
        pausable.unpause();
      } else if (!paused
          && StandaloneContainers.standalone(container.id())
          && !container.status().alive()) {
        standalone.start(container);
      }
    } catch (AgentException.NotFound _) {
      // removed meanwhile
    }
  }
}
