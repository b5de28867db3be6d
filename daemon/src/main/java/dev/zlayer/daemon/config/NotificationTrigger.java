package dev.zlayer.daemon.config;

import dev.zlayer.engine.state.Event;
import java.util.Locale;
import java.util.Set;

/** What operators want to hear of, each by the events that report it. */
public enum NotificationTrigger {
  JOB_FAILED(Set.of("job.failed")),
  CRASH_LOOP(Set.of("service.crash_loop")),
  ROLLOUT_FAILED(Set.of("service.rolled_back", "service.gave_up", "service.failed")),
  DISK_PRESSURE(Set.of("images.gc_started"));

  private final Set<String> kinds;

  NotificationTrigger(Set<String> kinds) {
    this.kinds = kinds;
  }

  public boolean matches(Event event) {
    return kinds.contains(event.kind());
  }

  /** As it is written in the configuration. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
