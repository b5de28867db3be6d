package dev.zlayer.daemon.standalone;

import dev.zlayer.engine.health.ProbeResult;
import java.time.Instant;

/** A check of a container that was made. */
public record HealthResult(Instant startedAt, Instant finishedAt, ProbeResult result) {}
