package dev.zlayer.spec.security;

import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Shorthand;
import java.util.Optional;

/** A limit per process. A missing bound is the same as the other one. */
@Doc("A limit per process; a missing bound is the same as the other one.")
@Shorthand(value = "soft", as = "a number")
public record UlimitSpec(
    @Doc("What holds; -1 for no limit.") @Range(min = -1) Optional<Long> soft,
    @Doc("What it may be raised to; -1 for no limit.") @Range(min = -1) Optional<Long> hard) {}
