package dev.zlayer.daemon.config;

import dev.zlayer.engine.state.Event;
import java.util.Locale;

/** What operators want to hear of, each by the events that report it. */
public enum NotificationTrigger {
  JOB_FAILED,
  CRASH_LOOP,
  ROLLOUT_FAILED,
  DISK_PRESSURE,
  CERTIFICATE_FAILED;

  public boolean matches(Event event) {
    return switch (event.kind()) {
      case "job.failed" -> this == JOB_FAILED;
      case "service.crash_loop" -> this == CRASH_LOOP;
      case "service.rolled_back", "service.gave_up", "service.failed" -> this == ROLLOUT_FAILED;
      case "images.gc_started" -> this == DISK_PRESSURE;
      case "certificate.failed" -> this == CERTIFICATE_FAILED;
      default -> false;
    };
  }

  /** As it is written in the configuration. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
