package dev.zlayer.engine.cron;

import dev.zlayer.engine.job.JobDefinition;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.schedule.CronPlanner;
import dev.zlayer.schedule.CronSchedule;
import dev.zlayer.spec.job.CronSpec;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Saturating;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * One schedule in the hands of the loop: definition, remembered state, and how often dealing with
 * it has failed in a row.
 */
record CronEntry(
    JobDefinition definition,
    CronSchedule schedule,
    CronState state,
    int failures,
    Optional<Instant> notBefore,
    Optional<String> trouble,
    boolean aside) {
  private static final Backoff RETRY_BACKOFF =
      new Backoff(Duration.ofSeconds(1), Duration.ofMinutes(1), 2);

  static CronEntry of(JobDefinition definition, CronState state) {
    var expression =
        definition
            .service()
            .schedule()
            .orElseThrow(
                () ->
                    new AgentException.InvalidSpec(
                        "'%s' has no schedule".formatted(definition.key())));
    var schedule = new CronSchedule(expression, definition.service().cron().timezone());
    return new CronEntry(definition, schedule, state, 0, Optional.empty(), Optional.empty(), false);
  }

  JobKey job() {
    return definition.key();
  }

  CronSpec settings() {
    return definition.service().cron();
  }

  boolean enabled() {
    return state.byHand().orElse(settings().enabled());
  }

  /** What the times of the schedule depend on. */
  String rule() {
    return schedule.expression() + " " + schedule.zone();
  }

  /**
   * With a new rule, or switched on again, times count from now; switched off they do not count.
   */
  CronEntry settled(Instant now) {
    if (state.anchor().isAfter(now) && state.rule().equals(rule()) && state.active()) {
      CronEntry counted =
          countedFrom(now, now); // the clock was set back while the agent was not there
      if (!counted.equals(this)) {
        return counted.settled(now);
      }
    }
    boolean recount = !state.rule().equals(rule()) || !state.active();
    boolean changed = recount || state.active() != enabled();
    return changed
        ? with(state.countingFrom(rule(), enabled(), recount ? now : state.anchor()))
        : this;
  }

  CronEntry with(CronState state) {
    return new CronEntry(definition, schedule, state, 0, Optional.empty(), Optional.empty(), false);
  }

  /** Nothing is known of its times any more; it rests until it is defined anew. */
  CronEntry setAside(String reason) {
    return new CronEntry(
        definition, schedule, state, failures, Optional.empty(), Optional.of(reason), true);
  }

  /** The wall clock was set. */
  CronEntry clockMoved(Duration by, Instant now) {
    CronEntry moved =
        new CronEntry(
            definition,
            schedule,
            state,
            failures,
            notBefore.map(time -> Saturating.plus(time, by)),
            trouble,
            aside);
    return moved.countedFrom(Saturating.plus(state.anchor(), by), now);
  }

  private CronEntry countedFrom(Instant anchor, Instant now) {
    return CronPlanner.countsAnew(schedule, state.anchor(), now)
        ? new CronEntry(
            definition,
            schedule,
            state.countingFrom(state.rule(), state.active(), anchor.isAfter(now) ? now : anchor),
            failures,
            notBefore,
            trouble,
            aside)
        : this;
  }

  /** Tried again later, and later still when it goes on failing. */
  CronEntry failed(String reason, Instant now) {
    return new CronEntry(
        definition,
        schedule,
        state,
        failures + 1,
        Optional.of(now.plus(RETRY_BACKOFF.delay(failures))),
        Optional.of(reason),
        false);
  }

  Optional<Instant> nextDue() {
    return enabled() && !aside ? schedule.nextAfter(state.anchor()) : Optional.empty();
  }

  Optional<Instant> nextRun() {
    return nextDue().map(due -> CronPlanner.fireAt(job().toString(), due, settings().jitter()));
  }

  /** When to look at it again. */
  Optional<Instant> nextLook() {
    return nextRun().map(run -> notBefore.filter(run::isBefore).orElse(run));
  }

  CronStatus status() {
    return new CronStatus(
        job(),
        schedule.expression().toString(),
        schedule.zone(),
        enabled(),
        state.lastDue(),
        state.lastRun(),
        nextDue(),
        nextRun(),
        state.lastSkip(),
        state.skips(),
        trouble);
  }
}
