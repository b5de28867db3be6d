package dev.zlayer.spec.security;

import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Shorthand;
import java.util.Optional;

/** A limit per process. A missing bound is the same as the other one. */
@Doc("A resource limit; a missing bound equals the other one.")
@Shorthand(value = "soft", as = "a number")
public record UlimitSpec(
    @Doc("Soft limit; -1 for no limit.") @Range(min = -1) Optional<Long> soft,
    @Doc("Hard limit; -1 for no limit.") @Range(min = -1) Optional<Long> hard) {}
