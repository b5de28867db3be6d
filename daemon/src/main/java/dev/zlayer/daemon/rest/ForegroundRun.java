package dev.zlayer.daemon.rest;

import dev.zlayer.container.LogPosition;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.rest.view.OutcomeView;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.engine.secret.RedactingLogReader;
import dev.zlayer.engine.secret.Redaction;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Threads;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The whole life of a container in one answer, for a caller that waits for its end: a request for
 * each step would take longer than most of what is run so. A caller that disconnects leaves it
 * running.
 */
final class ForegroundRun {
  private final StandaloneContainers standalone;
  private final Supplier<Redaction> redaction;

  ForegroundRun(StandaloneContainers standalone, Supplier<Redaction> redaction) {
    this.standalone = standalone;
    this.redaction = redaction;
  }

  /**
   * One that was made just now and not started yet.
   *
   * @param request names the request in problems
   */
  ApiResponse.Bytes answer(String request, Container made, boolean remove) {
    return new ApiResponse.Bytes(
        FrameWriter.TYPE,
        Map.of(),
        true,
        new ApiResponse.BytesWriter() {
          @Override
          public void write(OutputStream to) throws IOException, InterruptedException {
            run(request, made, remove, to);
          }

          @Override
          public void abandon() {
            discard(made);
          }
        });
  }

  private void run(String request, Container made, boolean remove, OutputStream to)
      throws IOException, InterruptedException {
    var out = new FrameWriter(to);
    told(made, out);
    try {
      // from before its start: one that ends at once is not removed before it is read
      try (var _ = standalone.readers().attach(made.id())) {
        start(made);
        out.word(Json.object().put("type", "started").build());
        Json outcome = shown(made, out);
        Optional<String> kept = Optional.empty();
        if (remove) {
          // when this process is killed from here on, nobody else can say how it ended
          out.word(end("ended", outcome).build());
          kept = removed(made);
        }
        out.word(end("exit", outcome).putIf("not_removed", kept).build());
      }
    } catch (AgentException e) {
      out.problem(e, request);
      out.flush();
    }
  }

  /** Its name; when nobody reads that, nobody knows of it. */
  private void told(Container made, FrameWriter out) throws IOException {
    try {
      out.word(
          Json.object()
              .put("type", "created")
              .put("id", made.id().runtimeName())
              .put("name", made.id().service())
              .build());
    } catch (IOException e) {
      discard(made);
      throw e;
    }
  }

  private void discard(Container made) {
    Threads.complete(() -> standalone.remove(made, true));
  }

  /** Its output up to its end, and how that was. */
  private Json shown(Container made, FrameWriter out) throws IOException, InterruptedException {
    out.copy(
        new RedactingLogReader(standalone.logs(made, LogQuery.ALL.following()), redaction),
        new LogPosition());
    Outcome outcome = made.await(WaitCondition.NOT_RUNNING, Deadline.none());
    return ViewJson.of(OutcomeView.of(outcome));
  }

  private static Json.Builder end(String type, Json outcome) {
    Json.Builder end = Json.object().put("type", type);
    outcome.members().forEach(end::put);
    return end;
  }

  /** One that was never seen running is of no use to whoever asked for one that runs. */
  private void start(Container made) {
    try {
      Threads.complete(() -> standalone.start(made));
    } catch (AgentException e) {
      discard(made);
      throw e;
    }
  }

  /** Why it was not removed. */
  private Optional<String> removed(Container made) {
    try {
      discard(made);
      return Optional.empty();
    } catch (AgentException.NotFound _) {
      return Optional.empty(); // somebody else has removed it
    } catch (AgentException e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
  }
}
