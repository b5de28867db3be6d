package dev.zlayer.daemon;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.proxy.ingress.Ingress;
import dev.zlayer.task.TimeSource;
import java.util.Map;

/** Replicas that the ingress ejects, as events among all others; logged as well. */
record IngressEventLog(StateStore store, TimeSource clock, Log log) {
  void record(Ingress.Ejection change) {
    Json.Builder detail =
        Json.object()
            .put("deployment", change.service().deployment())
            .put("service", change.service().service())
            .put("endpoint", change.endpoint());
    String kind = change.time().isPresent() ? "ingress.ejected" : "ingress.returned";
    if (change.time().isPresent()) {
      long seconds = change.time().get().toSeconds();
      detail
          .put("failures", change.failures())
          .put("requests", change.requests())
          .put("seconds", seconds);
      log.warn(
          "a replica fails more often than others and gets no requests",
          Map.of(
              "container",
              change.container(),
              "failures",
              change.failures(),
              "requests",
              change.requests(),
              "seconds",
              seconds));
    }
    try {
      store.commit(Change.of(new Event(clock.instant(), kind, change.container(), detail.build())));
    } catch (AgentException e) {
      log.warn(
          "an event was lost", Map.of("event", kind, "reason", String.valueOf(e.getMessage())));
    }
  }
}
