package dev.zlayer.daemon;

import dev.zlayer.daemon.http.Action;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.KeyedLock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Lets a caller that does not know whether its request arrived send it again: the answer to the
 * first request with a key is kept for a day and given once more, also by the next daemon.
 */
final class IdempotencyKeys {
  static final String HEADER = "Idempotency-Key";

  private static final String KIND = "idempotency";
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

  private ApiResponse answer(Route route, Action action, ApiRequest call)
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
      Optional<ApiResponse> kept = find(name);
      if (kept.isPresent()) {
        return kept.get();
      }
      ApiResponse answer = action.answer(call);
      if (answer instanceof ApiResponse.Whole whole && whole.status() < 300) {
        keep(name, whole);
      }
      return answer;
    }
  }

  private Optional<ApiResponse> find(String name) {
    return store
        .find(KIND, name)
        .map(JsonText::parse)
        .filter(kept -> !expired(kept))
        .map(
            kept ->
                ApiResponse.json(
                    kept.at("status").integer().orElse(200L).intValue(), kept.at("body")));
  }

  private void keep(String name, ApiResponse.Whole answer) {
    List<Change.Write> writes = new ArrayList<>();
    for (StateStore.Entry old : store.list(KIND, "")) {
      if (expired(JsonText.parse(old.value()))) {
        writes.add(new Change.Delete(KIND, old.key()));
      }
    }
    Json kept =
        Json.object()
            .put("time", clock.instant().toString())
            .put("status", answer.status())
            .put("body", JsonText.parse(answer.body()))
            .build();
    writes.add(new Change.Put(KIND, name, JsonText.bytes(kept)));
    store.commit(new Change(writes, List.of()));
  }

  private boolean expired(Json kept) {
    Instant time = kept.at("time").string().map(Instant::parse).orElse(Instant.MIN);
    return time.isBefore(clock.instant().minus(KEPT));
  }
}
