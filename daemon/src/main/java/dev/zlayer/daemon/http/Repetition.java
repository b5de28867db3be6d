package dev.zlayer.daemon.http;

import dev.zlayer.engine.state.Change;
import java.time.Instant;
import java.util.function.Function;

/**
 * What a request with a key has to leave behind so that it can be recognized, also when the daemon
 * is killed before it answers.
 *
 * @param key names the request; fit for a label
 * @param fingerprint of what was asked
 * @param oldest what was made before this is of an earlier use of the key
 * @param answered the record of an answer, to be made durable together with what was made
 */
public record Repetition(
    String key, String fingerprint, Instant oldest, Function<ApiResponse, Change> answered) {}
