package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.PullEvent;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** The progress of a pull as lines. */
final class PullLines {
  /** One line: resolved, layer, notice, and at last result. */
  record Line(
      String type,
      Optional<Digest> manifest,
      OptionalInt layers,
      OptionalLong bytes,
      Optional<Digest> layer,
      Optional<PullEvent.Step> step,
      OptionalLong done,
      OptionalLong total,
      Optional<String> text) {}

  private PullLines() {}

  static void write(PullEvent event, ApiResponse.Lined out) {
    try {
      out.line(json(event));
    } catch (IOException e) {
      throw new UncheckedIOException(e); // the caller has gone; the pull ends with it
    }
  }

  static Json json(PullEvent event) {
    return switch (event) {
      case PullEvent.Resolved(var manifest, int layers, long bytes) ->
          Json.object()
              .put("type", "resolved")
              .put("manifest", manifest)
              .put("layers", layers)
              .put("bytes", bytes)
              .build();
      case PullEvent.LayerProgress(var layer, var step, long done, long total) ->
          Json.object()
              .put("type", "layer")
              .put("layer", layer)
              .put("step", step)
              .put("done", done)
              .put("total", total)
              .build();
      case PullEvent.Notice(String text) ->
          Json.object().put("type", "notice").put("text", text).build();
    };
  }
}
