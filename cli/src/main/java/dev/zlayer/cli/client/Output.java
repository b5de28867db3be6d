package dev.zlayer.cli.client;

import dev.zlayer.container.LogPosition;
import dev.zlayer.json.Json;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;
import java.util.Optional;

/**
 * A piece of output as the daemon tells it.
 *
 * @param partial no line end followed
 * @param gap output before it is missing, or may be
 */
@SuppressWarnings("ArrayRecordComponent") // bytes to hand over, never compared
public record Output(
    Optional<Instant> time, boolean stderr, byte[] bytes, boolean partial, boolean gap) {
  static final String STDERR = "stderr";

  public static Output of(Json json) {
    byte[] bytes =
        json.at("bytes")
            .string()
            .map(Base64.getDecoder()::decode)
            .orElseGet(() -> json.at("text").string().orElse("").getBytes(StandardCharsets.UTF_8));
    return new Output(
        json.at("time").string().map(Instant::parse),
        json.at("stream").string().filter(STDERR::equals).isPresent(),
        bytes,
        json.at("partial").bool().orElse(false),
        json.at("gap").bool().orElse(false));
  }

  /** Whether it was not shown before; counts it if so. */
  public boolean isNew(LogPosition position) {
    return time.map(position::isNew).orElse(true);
  }
}
