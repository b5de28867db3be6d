package dev.zlayer.spec.job;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Shorthand;
import java.time.Duration;

/** Growing pauses. */
@Doc("Growing pauses between attempts.")
@Shorthand(value = "initial", as = "a duration")
public record BackoffSpec(
    @Doc("First pause.") @Default("1s") Duration initial,
    @Doc("Longest pause.") @Default("60s") Duration max,
    @Doc("Each pause is this much longer than the one before.") @Default("2") double factor) {}
