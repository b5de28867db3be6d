package dev.zlayer.daemon.rest;

import dev.zlayer.container.LogPosition;
import dev.zlayer.container.LogQuery;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.view.ExecutionView;
import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.secret.RedactingLogReader;
import dev.zlayer.engine.secret.Redaction;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.LogReader;
import java.io.IOException;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The output of all attempts of an execution as it comes, and then how it ended: one answer for
 * those who wait for it.
 */
final class ExecutionStream {
  private final JobExecutor jobs;
  private final Supplier<Redaction> redaction;

  ExecutionStream(JobExecutor jobs, Supplier<Redaction> redaction) {
    this.jobs = jobs;
    this.redaction = redaction;
  }

  static Route parameters(Route route) {
    return route
        .withNumber("attempt", "Attempt to begin with (default: 1).")
        .with("since", "From this time in that attempt.")
        .givesType(
            FrameWriter.TYPE,
            "Frames as of /executions/{id}/logs. One with the flag 16 holds the number of the"
                + " attempt whose output follows, one with the flag 64 the reason why it does not"
                + " begin, the last one, with the flag 32, the execution as JSON.");
  }

  ApiResponse answer(ExecutionId id, ApiRequest call, Instant now) {
    Execution _ = jobs.execution(id); // an error is a status while nothing was sent
    int first = Math.max(1, call.number("attempt").orElse(1));
    Optional<Instant> since = call.time("since", now);
    return new ApiResponse.Bytes(
        FrameWriter.TYPE,
        Map.of(),
        to -> {
          var out = new FrameWriter(to);
          out.flush();
          try {
            Execution ended = attempts(id, first, since, out);
            out.end(JsonText.bytes(ViewJson.of(ExecutionView.of(ended))));
          } catch (AgentException e) {
            out.problem(e, call.id());
          }
          out.flush();
        });
  }

  private Execution attempts(ExecutionId id, int first, Optional<Instant> since, FrameWriter out)
      throws IOException, InterruptedException {
    Optional<Instant> from = since;
    for (int attempt = first; ; attempt++) {
      Execution execution = jobs.awaitOutput(id, attempt);
      if (execution.attempts().size() < attempt) {
        return execution;
      }
      out.attempt(attempt);
      attempt(execution, attempt, from, out);
      from = Optional.empty();
    }
  }

  /** As it is written, and then, when all of it is kept, what was not to be had before. */
  private void attempt(Execution execution, int attempt, Optional<Instant> since, FrameWriter out)
      throws IOException, InterruptedException {
    var position = new LogPosition();
    Execution now = execution;
    Optional<Instant> from = since;
    while (true) {
      boolean ended =
          now.status().finished()
              || now.attempts().size() > attempt
              || now.attempt().finishedAt().isPresent();
      position.again();
      var query = LogQuery.ALL.following();
      LogQuery rest = from.map(query::withSince).orElse(query);
      LogReader reader = new RedactingLogReader(jobs.output(now.id(), attempt, rest), redaction);
      out.copy(reader, position);
      out.flush();
      if (ended) {
        return;
      }
      from = position.since().or(() -> since);
      now = jobs.awaitAttempt(now.id(), attempt);
      if (now.attempts().size() < attempt) {
        return;
      }
    }
  }
}
