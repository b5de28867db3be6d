package dev.zlayer.engine.job;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** Executions as the JSON that is stored; a version is written so that readers can tell. */
final class ExecutionCodec {
  /** Version 2 can name containers that were made ahead. */
  static final StoredFormat FORMAT = StoredFormat.of("the execution", UnaryOperator.identity());

  private ExecutionCodec() {}

  static byte[] write(Execution execution) {
    return JsonText.bytes(json(execution));
  }

  static Json json(Execution execution) {
    return FORMAT
        .begin()
        .put("id", execution.id())
        .put("number", execution.number())
        .put("deployment", execution.job().deployment())
        .put("job", execution.job().name())
        .put("trigger", trigger(execution.trigger()))
        .put("overrides", overrides(execution.overrides()))
        .put("priority", execution.priority())
        .put("created_at", execution.createdAt())
        .put("needs", execution.needs())
        .put("follows", execution.follows())
        .putIf("started_at", execution.startedAt())
        .putIf("deadline_at", execution.deadlineAt())
        .putIf("not_before", execution.notBefore())
        .put("cancel_requested", execution.cancelRequested())
        .put("timed_out", execution.timedOut())
        .put("attempts", execution.attempts().stream().map(AttemptCodec::json).toList())
        .put("status", status(execution.status()))
        .putIf("finished_at", execution.finishedAt())
        .build();
  }

  static Execution read(byte[] bytes) {
    Json json = FORMAT.upgrade(JsonText.parse(bytes), "state.db");
    return new Execution(
        id(json.at("id")),
        number(json, "number"),
        new JobKey(text(json, "deployment"), text(json, "job")),
        trigger(json.at("trigger")),
        overrides(json.at("overrides")),
        (int) number(json, "priority"),
        Instant.parse(text(json, "created_at")),
        ids(json.at("needs")),
        ids(json.at("follows")),
        instant(json, "started_at"),
        instant(json, "deadline_at"),
        instant(json, "not_before"),
        json.at("cancel_requested").bool().orElse(false),
        json.at("timed_out").bool().orElse(false),
        json.at("attempts").items().stream().map(AttemptCodec::read).toList(),
        status(json.at("status")),
        instant(json, "finished_at"));
  }

  private static Json trigger(Trigger trigger) {
    return switch (trigger) {
      case Trigger.Cli() -> Json.object().put("by", "cli").build();
      case Trigger.Endpoint(var remote) ->
          Json.object().put("by", "endpoint").putIf("remote", remote).build();
      case Trigger.Scheduler(var due) ->
          Json.object().put("by", "scheduler").put("due", due).build();
      case Trigger.Internal(var reason) ->
          Json.object().put("by", "internal").put("reason", reason).build();
    };
  }

  private static Trigger trigger(Json json) {
    return switch (text(json, "by")) {
      case "cli" -> new Trigger.Cli();
      case "endpoint" -> new Trigger.Endpoint(json.at("remote").string());
      case "scheduler" -> new Trigger.Scheduler(Instant.parse(text(json, "due")));
      default -> new Trigger.Internal(text(json, "reason"));
    };
  }

  private static Json overrides(Overrides overrides) {
    Json.Builder json =
        Json.object()
            .putIf("args", overrides.args())
            .put("env", overrides.env())
            .putIf("deadline", overrides.deadline());
    if (!overrides.gpus().isEmpty()) {
      json.put("gpus", overrides.gpus());
    }
    return json.build();
  }

  private static Overrides overrides(Json json) {
    return new Overrides(
        json.at("args").isNull() ? Optional.empty() : Optional.of(json.at("args").strings()),
        json.at("env").stringMap(),
        json.at("deadline").string().map(Duration::parse),
        json.at("gpus").strings());
  }

  private static Json status(ExecutionStatus status) {
    Json.Builder json = Json.object().put("is", status.word());
    switch (status) {
      case ExecutionStatus.Completed(int code, Duration duration) ->
          json.put("code", code).put("duration", duration);
      case ExecutionStatus.Failed(String reason, var exit) ->
          json.put("reason", reason).putIf("exit", exit.map(AttemptCodec::exit));
      case ExecutionStatus.Uploading(var exit) -> json.put("exit", AttemptCodec.exit(exit));
      case ExecutionStatus.Pending _,
          ExecutionStatus.Initializing _,
          ExecutionStatus.Running _,
          ExecutionStatus.Cancelled _ -> {}
    }
    return json.build();
  }

  private static ExecutionStatus status(Json json) {
    return switch (text(json, "is")) {
      case "pending" -> new ExecutionStatus.Pending();
      case "initializing" -> new ExecutionStatus.Initializing();
      case "running" -> new ExecutionStatus.Running();
      case "uploading" -> new ExecutionStatus.Uploading(AttemptCodec.exit(json.at("exit")));
      case "completed" ->
          new ExecutionStatus.Completed(
              (int) number(json, "code"), Duration.parse(text(json, "duration")));
      case "failed" ->
          new ExecutionStatus.Failed(
              text(json, "reason"),
              json.at("exit").isNull()
                  ? Optional.empty()
                  : Optional.of(AttemptCodec.exit(json.at("exit"))));
      case "cancelled" -> new ExecutionStatus.Cancelled();
      case String other ->
          throw new AgentException.Internal("a stored execution is '" + other + "'");
    };
  }

  private static List<ExecutionId> ids(Json json) {
    return json.strings().stream().map(ExecutionId::new).toList();
  }

  private static ExecutionId id(Json json) {
    return new ExecutionId(json.string().orElseThrow());
  }

  static String text(Json json, String name) {
    return json.at(name)
        .string()
        .orElseThrow(() -> new AgentException.Internal("a stored execution lacks " + name));
  }

  static long number(Json json, String name) {
    return json.at(name)
        .integer()
        .orElseThrow(() -> new AgentException.Internal("a stored execution lacks " + name));
  }

  static Optional<Instant> instant(Json json, String name) {
    return json.at(name).string().map(Instant::parse);
  }
}
