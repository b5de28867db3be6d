package dev.zlayer.container;

import java.time.Instant;
import java.util.Optional;

/** What is at a path inside a container; mode as in {@code st_mode}, type bits included. */
public record PathStat(
    String name, long size, int mode, Instant modified, Optional<String> linkTarget) {}
