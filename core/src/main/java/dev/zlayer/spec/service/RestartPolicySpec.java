package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import java.time.Duration;
import java.util.Optional;

/** When to restart a process that ended. */
@Doc("When to restart a process that exited.")
public record RestartPolicySpec(
    @Doc("no, always, unless_stopped or on_failure.") Kind kind,
    @Doc("Maximum number of restarts (default: unlimited).") @Range(min = 0)
        Optional<Integer> maxAttempts,
    @Doc("First delay before a restart; later ones grow.") Optional<Duration> delay) {
  public enum Kind {
    NO,
    ALWAYS,
    UNLESS_STOPPED,
    ON_FAILURE
  }
}
