package dev.zlayer.spec.job;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Shorthand;
import java.time.Duration;

/** Growing pauses. */
@Doc("Exponential backoff between attempts.")
@Shorthand(value = "initial", as = "a duration")
public record BackoffSpec(
    @Doc("First delay.") @Default("1s") Duration initial,
    @Doc("Maximum delay.") @Default("60s") Duration max,
    @Doc("Factor by which each delay grows.") @Default("2") double factor) {}
