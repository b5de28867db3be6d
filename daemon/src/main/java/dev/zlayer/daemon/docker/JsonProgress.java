package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.json.Json;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PushEvent;
import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * The progress of something long as clients of Docker read it: objects one after the other, a
 * failure as the last of them. What fails before the first one is an ordinary failure.
 */
final class JsonProgress {
  private static final long KILO = 1_000;

  private final ApiResponse.Lined out;
  private boolean begun;

  private JsonProgress(ApiResponse.Lined out) {
    this.out = out;
  }

  /** Something long. */
  @FunctionalInterface
  interface Work {
    void run(JsonProgress progress) throws IOException, InterruptedException;
  }

  static ApiResponse of(String requestId, Work work) {
    return new ApiResponse.Lines(
        "application/json",
        out -> {
          var progress = new JsonProgress(out);
          try {
            work.run(progress);
          } catch (RuntimeException e) {
            if (!progress.begun || e instanceof UncheckedIOException) {
              throw e;
            }
            progress.error(DockerEngineApi.message(e, requestId));
          }
        });
  }

  void line(Json json) {
    try {
      synchronized (this) {
        begun = true;
      }
      out.line(json);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // the client disconnected, which ends the work
    }
  }

  void status(String text) {
    line(Json.object().put("status", text).build());
  }

  void status(String id, String text) {
    line(
        Json.object()
            .put("status", text)
            .put("progressDetail", Json.object().build())
            .put("id", id)
            .build());
  }

  void stream(String text) {
    line(Json.object().put("stream", text).build());
  }

  void aux(Json aux) {
    line(Json.object().put("aux", aux).build());
  }

  void error(String message) {
    line(
        Json.object()
            .put("errorDetail", Json.object().put("message", message).build())
            .put("error", message)
            .build());
  }

  /** With the exit code of what failed. */
  void error(int code, String message) {
    line(
        Json.object()
            .put("errorDetail", Json.object().put("code", code).put("message", message).build())
            .put("error", message)
            .build());
  }

  void progress(String id, String text, long done, long total) {
    line(
        Json.object()
            .put("status", text)
            .put("progressDetail", Json.object().put("current", done).put("total", total).build())
            .put("progress", bar(done, total))
            .put("id", id)
            .build());
  }

  private static String bar(long done, long total) {
    int filled = total <= 0 ? 0 : (int) Math.min(50, 50 * done / total);
    String bar =
        "=".repeat(filled) + (filled < 50 ? ">" : "") + " ".repeat(Math.max(0, 49 - filled));
    return "[%s]  %s/%s".formatted(bar, size(done), size(total));
  }

  private static String size(long bytes) {
    double value = bytes;
    for (String unit : new String[] {"B", "kB", "MB", "GB"}) {
      if (value < KILO || unit.equals("GB")) {
        return "%.4g%s".formatted(value, unit).replaceFirst("\\.?0+(?=[a-zA-Z])", "");
      }
      value /= KILO;
    }
    throw new IllegalStateException();
  }

  /** What a pull reports. */
  void pull(PullEvent event, String from, String tag) {
    switch (event) {
      case PullEvent.Resolved _ ->
          line(Json.object().put("status", "Pulling from " + from).put("id", tag).build());
      case PullEvent.Notice(String text) -> status(text);
      case PullEvent.LayerProgress(var layer, var step, long done, long total) -> {
        String id = layer.brief();
        switch (step) {
          case PRESENT -> status(id, "Already exists");
          case WAITING -> status(id, "Pulling fs layer");
          case DOWNLOADING -> progress(id, "Downloading", done, total);
          case VERIFYING -> status(id, "Verifying Checksum");
          case UNPACKING -> {
            if (done == 0) {
              status(id, "Download complete");
            }
            progress(id, "Extracting", done, total);
          }
          case DONE -> status(id, "Pull complete");
        }
      }
    }
  }

  /** What a push reports. */
  void push(PushEvent event, String name) {
    switch (event) {
      case PushEvent.Notice(String text) -> status(text);
      case PushEvent.BlobProgress(var blob, var step, long done, long total) -> {
        String id = blob.brief();
        switch (step) {
          case WAITING -> status(id, "Preparing");
          case EXISTS -> status(id, "Layer already exists");
          case MOUNTED -> status(id, "Mounted from another repository of " + name);
          case PUSHING -> progress(id, "Pushing", done, total);
          case PUSHED -> status(id, "Pushed");
        }
      }
    }
  }
}
