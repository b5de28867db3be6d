package dev.zlayer.engine.deployment;

import java.time.Instant;
import java.util.Optional;

/**
 * Where the automatic updates of a service stand.
 *
 * @param schedule as the file has it
 * @param next when the registry is asked next
 * @param lastResult what came of the last check, in words
 */
public record AutoUpdateStatus(
    String schedule,
    Optional<Instant> next,
    Optional<Instant> lastChecked,
    Optional<String> lastResult) {}
