package dev.zlayer.engine.job;

import static dev.zlayer.engine.job.ExecutionCodec.instant;
import static dev.zlayer.engine.job.ExecutionCodec.number;
import static dev.zlayer.engine.job.ExecutionCodec.text;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;
import dev.zlayer.engine.init.StepReport;
import dev.zlayer.json.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;

/** The parts of an execution's JSON that tell about one attempt. */
final class AttemptCodec {
  private AttemptCodec() {}

  static Json json(Attempt attempt) {
    Json.Builder json =
        Json.object()
            .put("number", attempt.number())
            .putIf("prepared", attempt.prepared())
            .put("started_at", attempt.startedAt())
            .putIf("running_at", attempt.runningAt())
            .putIf("finished_at", attempt.finishedAt())
            .putIf("exit", attempt.exit().map(AttemptCodec::exit))
            .putIf("error", attempt.error())
            .put("steps", attempt.steps().stream().map(AttemptCodec::step).toList())
            .put("kept", attempt.output().kept())
            .put("total", attempt.output().total())
            .put("artifacts", attempt.artifacts().stream().map(AttemptCodec::artifact).toList())
            .put("notes", attempt.notes());
    if (attempt.elsewhere()) {
      json.put("elsewhere", true);
    }
    return json.build();
  }

  static Attempt read(Json json) {
    return new Attempt(
        (int) number(json, "number"),
        json.at("prepared").integer(),
        Instant.parse(text(json, "started_at")),
        instant(json, "running_at"),
        instant(json, "finished_at"),
        json.at("exit").isNull() ? Optional.empty() : Optional.of(exit(json.at("exit"))),
        json.at("error").string(),
        json.at("steps").items().stream().map(AttemptCodec::step).toList(),
        new Attempt.Output(number(json, "kept"), number(json, "total")),
        json.at("artifacts").items().stream().map(AttemptCodec::artifact).toList(),
        json.at("notes").strings(),
        json.at("elsewhere").bool().orElse(false));
  }

  static Json exit(ExitStatus exit) {
    return switch (exit) {
      case ExitStatus.Code(int code) -> Json.object().put("code", code).build();
      case ExitStatus.Signalled(Signal signal) ->
          Json.object().put("signal", signal.number()).build();
      case ExitStatus.OutOfMemory() -> Json.object().put("out_of_memory", true).build();
      case ExitStatus.RuntimeError(String reason) ->
          Json.object().put("runtime_error", reason).build();
      case ExitStatus.Unknown(String reason) -> Json.object().put("unknown", reason).build();
    };
  }

  static ExitStatus exit(Json json) {
    if (!json.at("code").isNull()) {
      return new ExitStatus.Code((int) number(json, "code"));
    }
    if (!json.at("signal").isNull()) {
      return new ExitStatus.Signalled(new Signal((int) number(json, "signal")));
    }
    if (!json.at("out_of_memory").isNull()) {
      return new ExitStatus.OutOfMemory();
    }
    return json.at("runtime_error")
        .string()
        .<ExitStatus>map(ExitStatus.RuntimeError::new)
        .orElseGet(() -> new ExitStatus.Unknown(text(json, "unknown")));
  }

  private static Json artifact(Attempt.Artifact artifact) {
    return Json.object()
        .put("path", artifact.path())
        .put("file", artifact.file())
        .put("bytes", artifact.bytes())
        .build();
  }

  private static Attempt.Artifact artifact(Json json) {
    return new Attempt.Artifact(text(json, "path"), text(json, "file"), number(json, "bytes"));
  }

  private static Json step(StepReport step) {
    return Json.object()
        .put("step", step.step())
        .put("pass", step.pass())
        .put("attempt", step.attempt())
        .put("started_at", step.startedAt())
        .put("result", step.result())
        .put("took", step.took())
        .putIf("error", step.error())
        .putIf("log", step.log())
        .build();
  }

  private static StepReport step(Json json) {
    return new StepReport(
        text(json, "step"),
        (int) number(json, "pass"),
        (int) number(json, "attempt"),
        Instant.parse(text(json, "started_at")),
        StepReport.Result.valueOf(text(json, "result").toUpperCase(Locale.ROOT)),
        Duration.parse(text(json, "took")),
        json.at("error").string(),
        json.at("log").string());
  }
}
