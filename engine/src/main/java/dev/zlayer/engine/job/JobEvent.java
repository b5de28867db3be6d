package dev.zlayer.engine.job;

import dev.zlayer.engine.state.Event;
import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.Optional;

/** What happened to an execution, with the facts of it. */
final class JobEvent {
  private final String kind;
  private final Execution execution;
  private final Instant now;
  private final Json.Builder detail;

  JobEvent(String kind, Execution execution, Instant now) {
    this.kind = kind;
    this.execution = execution;
    this.now = now;
    this.detail = Json.object().put("job", execution.job()).put("execution", execution.name());
    if (!execution.attempts().isEmpty()) {
      detail.put("attempt", execution.attempt().number());
    }
  }

  /** Nothing is added for what is absent. */
  JobEvent with(String name, Object value) {
    if (!Optional.empty().equals(value)) {
      detail.put(name, value);
    }
    return this;
  }

  Event build() {
    return new Event(now, kind, execution.id().text(), detail.build());
  }
}
