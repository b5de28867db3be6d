package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.port.Container;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;

/** Records what happens to single containers; each exit once, whoever sees it. */
final class ContainerEvents {
  /** Which exit of a container was recorded last. */
  private static final String TOLD = "standalone.told";

  private final StateStore store;
  private final InstantSource clock;

  /** When each single one was created, which one that is removed does not know any more. */
  private final Map<ContainerId, Instant> created = new ConcurrentHashMap<>();

  ContainerEvents(StateStore store, InstantSource clock) {
    this.store = store;
    this.clock = clock;
  }

  /** Remembers what its removal is reported with. */
  void know(Container container) {
    if (!created.containsKey(container.id())) {
      createdAt(container).ifPresent(time -> created.putIfAbsent(container.id(), time));
    }
  }

  private static Optional<Instant> createdAt(Container container) {
    try {
      return Optional.of(container.inspect().createdAt());
    } catch (AgentException.NotFound _) {
      return Optional.empty(); // removed meanwhile
    }
  }

  void record(String kind, Container container, Json detail) {
    store.commit(Change.of(event(kind, container, detail)));
  }

  /** For an exit that its supervisor has not recorded: it was ended before, or there was none. */
  void recordExit(Container container) {
    if (StandaloneContainers.standalone(container.id())
        && container.status() instanceof ContainerStatus.Exited(Outcome outcome)) {
      recordExit(container, outcome);
    }
  }

  void recordExit(Container container, Outcome outcome) {
    String key = container.id().path();
    byte[] which = outcome.toString().getBytes(StandardCharsets.UTF_8);
    if (outcome.startedAt().isPresent()
        && !store.find(TOLD, key).filter(told -> Arrays.equals(told, which)).isPresent()) {
      Json detail =
          Json.object().putIf("code", code(outcome)).put("ended", outcome.status().text()).build();
      store.commit(
          Change.of(new Change.Put(TOLD, key, which))
              .plus(Change.of(event("container.exited", container, detail))));
    }
  }

  /** It was removed: what was recorded of its exit goes in the same commit. */
  void recordRemoval(Container container) {
    store.commit(
        Change.of(new Change.Delete(TOLD, container.id().path()))
            .plus(Change.of(event("container.removed", container, Json.object().build()))));
    created.remove(container.id());
  }

  private static Optional<Integer> code(Outcome outcome) {
    OptionalInt code = outcome.status().exitCode();
    return code.isPresent() ? Optional.of(code.getAsInt()) : Optional.empty();
  }

  private Event event(String kind, Container container, Json detail) {
    var members = new LinkedHashMap<>(detail.members());
    members.put("container", facts(container));
    return new Event(clock.instant(), kind, container.id().toString(), new Json.Obj(members));
  }

  /** What clients show of it. */
  private Json facts(Container container) {
    Optional<Instant> time = createdAt(container);
    if (StandaloneContainers.standalone(container.id())) { // the removal of others is not seen here
      know(container);
      time = Optional.ofNullable(created.get(container.id()));
    }
    return Json.object()
        .put("path", container.id().path())
        .put("name", DisplayName.of(container))
        .put("image", container.spec().image().familiar())
        .putIf("created", time)
        .put("labels", labels(container))
        .build();
  }

  /** Without what a client sent to make it, which is as large as clients like. */
  private static Map<String, String> labels(Container container) {
    var labels = new LinkedHashMap<>(container.spec().labels());
    labels.remove(StandaloneContainers.REQUEST);
    return labels;
  }
}
