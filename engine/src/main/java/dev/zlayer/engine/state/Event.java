package dev.zlayer.engine.state;

import dev.zlayer.json.Json;
import java.time.Instant;

/**
 * Something that happened.
 *
 * @param kind what, as {@code area.verb}: {@code job.completed}
 * @param subject to whom: an execution's id, a schedule's name
 * @param detail facts by name
 */
public record Event(Instant at, String kind, String subject, Json detail) {}
