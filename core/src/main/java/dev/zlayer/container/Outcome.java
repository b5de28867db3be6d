package dev.zlayer.container;

import java.time.Instant;
import java.util.Optional;

/** The end of one run of a container: how, and when it began and ended as far as known. */
public record Outcome(
    ExitStatus status, Optional<Instant> startedAt, Optional<Instant> finishedAt) {}
