package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import java.time.Duration;

/** How to tell whether a replica works. */
@Doc("How to tell whether a replica works.")
public record HealthSpec(
    @Doc("What to try.") @Default("{type: tcp, port: 0}") HealthCheck check,
    @Doc("Failures in this first time do not count.") @Default("5s") Duration startGrace,
    @Doc("Time between two checks.") @Default("10s") Duration interval,
    @Doc("A check that takes longer has failed.") @Default("5s") Duration timeout,
    @Doc("This many failures in a row make a replica unhealthy.")
        @Default("3")
        @Range(min = 1, max = 1000)
        int retries,
    @Doc("What to do with an unhealthy replica: restart it, stop it, or none.") @Default("restart")
        OnUnhealthy onUnhealthy) {
  /** What to do with an unhealthy replica; it gets no traffic in any case. */
  public enum OnUnhealthy {
    RESTART,
    STOP,
    NONE
  }
}
