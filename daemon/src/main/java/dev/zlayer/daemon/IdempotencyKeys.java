package dev.zlayer.daemon;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Repetition;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.RouteHandler;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.task.KeyedLock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * Lets a caller that does not know whether its request arrived send it again: the answer to the
 * first request with a key is kept for a day and given once more, also by the next daemon. What is
 * made carries a mark of its request, or the answer becomes durable together with it, so that a
 * kill in between does not make it twice.
 */
final class IdempotencyKeys {
  static final String HEADER = "Idempotency-Key";

  /** The first version has no version, and does not know the request. */
  static final StoredFormat FORMAT =
      StoredFormat.unmarked("the answer to a repeatable request", UnaryOperator.identity());

  private static final String KIND = "idempotency";
  private static final String REQUEST = "request";
  private static final Duration KEPT = Duration.ofDays(1);
  private static final int LONGEST_KEY = 256;

  private final StateStore store;
  private final InstantSource clock;
  private final KeyedLock<String> locks = new KeyedLock<>();

  IdempotencyKeys(StateStore store, InstantSource clock) {
    this.store = store;
    this.clock = clock;
  }

  /** The route with its answers kept for those who send a key. */
  Route around(Route route) {
    return route.with(action -> call -> answer(route, action, call));
  }

  private ApiResponse answer(Route route, RouteHandler action, ApiRequest call)
      throws InterruptedException {
    Optional<String> key = call.header(HEADER);
    if (key.isEmpty()) {
      return action.answer(call);
    }
    if (key.get().isBlank() || key.get().length() > LONGEST_KEY) {
      throw new AgentException.InvalidSpec(
          "%s has 1 to %d characters".formatted(HEADER, LONGEST_KEY));
    }
    // what one deployment's token has sent is no answer to another's
    String name =
        route.template() + call.deployment().map(own -> " of " + own).orElse("") + " " + key.get();
    try (var _ = locks.lock(name)) {
      Optional<Json> kept = store.find(KIND, name).flatMap(this::read).filter(this::current);
      if (kept.isPresent()) {
        requireSame(kept.get(), call, key.get());
        return ApiResponse.json(
            kept.get().at("status").integer().orElse(200L).intValue(), kept.get().at("body"));
      }
      String request = call.fingerprint();
      call.repeatableAs(
          new Repetition(
              ApiRequest.fingerprint(name),
              request,
              clock.instant().minus(KEPT),
              answer -> record(name, request, answer)));
      ApiResponse answer = action.answer(call);
      Change done = record(name, request, answer);
      if (!done.isEmpty()) {
        store.commit(done.plus(expired()));
      }
      return answer;
    }
  }

  /** A key that stands for two different requests is a mistake of the caller. */
  private static void requireSame(Json kept, ApiRequest call, String key) {
    Optional<String> before = kept.at(REQUEST).string();
    if (before.isPresent() && !before.get().equals(call.fingerprint())) {
      throw new AgentException.Conflict(
          "%s '%s' was used for another request: choose another key".formatted(HEADER, key));
    }
  }

  /** What is damaged counts as never answered. */
  private Optional<Json> read(byte[] bytes) {
    try {
      return Optional.of(FORMAT.upgrade(JsonText.parse(bytes), "state.db"));
    } catch (AgentException.InvalidSpec | AgentException.Configuration _) {
      return Optional.empty();
    }
  }

  private Change expired() {
    List<Change.Write> writes = new ArrayList<>();
    for (StateStore.Entry old : store.list(KIND, "")) {
      if (read(old.value()).filter(this::current).isEmpty()) {
        writes.add(new Change.Delete(KIND, old.key()));
      }
    }
    return new Change(writes, List.of());
  }

  /** Nothing for a request that failed: it is tried again. */
  private Change record(String name, String request, ApiResponse answer) {
    if (!(answer instanceof ApiResponse.Whole whole) || whole.status() >= 300) {
      return new Change(List.of(), List.of());
    }
    Json kept =
        FORMAT
            .begin()
            .put("time", clock.instant().toString())
            .put(REQUEST, request)
            .put("status", whole.status())
            .put("body", JsonText.parse(whole.body()))
            .build();
    return Change.of(new Change.Put(KIND, name, JsonText.bytes(kept)));
  }

  private boolean current(Json kept) {
    Optional<Instant> time = kept.at("time").string().map(Instant::parse);
    return time.filter(at -> at.isAfter(clock.instant().minus(KEPT))).isPresent();
  }
}
