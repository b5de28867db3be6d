package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.PushEvent;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Optional;
import java.util.OptionalLong;

/** The progress of a push as lines. */
final class PushLines {
  /** One line: blob, notice, and at last result. */
  record Line(
      String type,
      Optional<Digest> blob,
      Optional<PushEvent.Step> step,
      OptionalLong done,
      OptionalLong total,
      Optional<String> text,
      Optional<Digest> digest,
      OptionalLong size) {}

  private PushLines() {}

  static void write(PushEvent event, ApiResponse.Lined out) {
    try {
      out.line(json(event));
    } catch (IOException e) {
      throw new UncheckedIOException(e); // the caller has left; the push ends with it
    }
  }

  private static Json json(PushEvent event) {
    return switch (event) {
      case PushEvent.BlobProgress(var blob, var step, long done, long total) ->
          Json.object()
              .put("type", "blob")
              .put("blob", blob)
              .put("step", step)
              .put("done", done)
              .put("total", total)
              .build();
      case PushEvent.Notice(String text) ->
          Json.object().put("type", "notice").put("text", text).build();
    };
  }
}
