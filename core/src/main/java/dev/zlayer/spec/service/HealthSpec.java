package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import java.time.Duration;

/** How to tell whether a replica works. */
@Doc("Health check of a replica.")
public record HealthSpec(
    @Doc("The check.") @Default("{type: tcp, port: 0}") HealthCheck check,
    @Doc("Grace period after the start in which failures do not count.") @Default("5s")
        Duration startGrace,
    @Doc("Time between two checks.") @Default("10s") Duration interval,
    @Doc("Time limit of a check.") @Default("5s") Duration timeout,
    @Doc("Consecutive failures that make a replica unhealthy.")
        @Default("3")
        @Range(min = 1, max = 1000)
        int retries,
    @Doc("Action for an unhealthy replica: restart, stop or none.") @Default("restart")
        OnUnhealthy onUnhealthy) {
  /** What to do with an unhealthy replica; it gets no traffic in any case. */
  public enum OnUnhealthy {
    RESTART,
    STOP,
    NONE
  }
}
