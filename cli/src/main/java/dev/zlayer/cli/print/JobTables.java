package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Jobs, executions and schedules as tables. Pure. */
public final class JobTables {
  private JobTables() {}

  public static String jobs(List<Json> jobs, Instant now, Style style) {
    var table = new Table("JOB", "SCHEDULE", "LAST", "ENDED", "NEXT", "");
    for (Json job : jobs) {
      Json last = job.at("last");
      Json cron = job.at("cron");
      table.row(
          name(job),
          cron.at("schedule").string().or(() -> cron.at("expression").string()).orElse("-"),
          style.state(status(last)),
          age(last, "finished", now),
          cron.at("next_run").string().map(next -> until(next, now)).orElse("-"),
          job.at("waiting_for")
              .string()
              .map(what -> "waits for " + what)
              .or(() -> StatusText.message(job.at("last_error")))
              .orElse(""));
    }
    return table.toString();
  }

  public static String executions(List<Json> executions, Instant now, Style style) {
    var table = new Table("EXECUTION", "JOB", "STATUS", "TRIGGER", "CREATED", "TOOK", "ATTEMPTS");
    for (Json execution : executions) {
      table.row(
          StatusText.text(execution, "id"),
          name(execution),
          style.state(status(execution)),
          trigger(execution),
          age(execution, "created", now),
          took(execution),
          attempts(execution));
    }
    return table.toString();
  }

  public static String crons(List<Json> crons, Instant now, Style style) {
    var table = new Table("CRON JOB", "SCHEDULE", "ZONE", "STATE", "LAST", "NEXT", "SKIPPED", "");
    for (Json cron : crons) {
      table.row(
          name(cron),
          cron.at("schedule").string().or(() -> cron.at("expression").string()).orElse("-"),
          cron.at("timezone").string().or(() -> cron.at("zone").string()).orElse("-"),
          style.state(cron.at("enabled").bool().orElse(true) ? "enabled" : "disabled"),
          age(cron, "last_run", now),
          cron.at("next_run").string().map(next -> until(next, now)).orElse("-"),
          StatusText.number(cron, "skips"),
          cron.at("trouble").string().orElse(""));
    }
    return table.toString();
  }

  /** All that a person asks about one execution. */
  public static String execution(Json execution, Instant now, Style style) {
    var text = new StringBuilder();
    line(text, "execution", StatusText.text(execution, "id"));
    line(text, "job", name(execution));
    line(text, "status", style.state(status(execution)));
    execution.at("reason").string().ifPresent(reason -> line(text, "reason", reason));
    line(text, "trigger", trigger(execution));
    line(text, "created", StatusText.text(execution, "created"));
    line(text, "took", took(execution));
    for (Json attempt : execution.at("attempts").items()) {
      line(
          text,
          "attempt " + StatusText.number(attempt, "number"),
          attempt
              .at("error")
              .string()
              .or(() -> attempt.at("exit").string())
              .or(() -> attempt.at("exit").at("reason").string())
              .orElse("under way"));
      for (Json artifact : attempt.at("artifacts").items()) {
        line(
            text, "artifact", artifact.string().orElseGet(() -> StatusText.text(artifact, "path")));
      }
    }
    return text.toString();
  }

  /** {@code failed (3)}: the code belongs to the status. */
  static String status(Json execution) {
    Json status = execution.at("status");
    String word =
        status
            .string()
            .or(() -> status.at("state").string())
            .or(() -> status.at("type").string())
            .orElse("-");
    return execution
        .at("exit_code")
        .integer()
        .or(() -> execution.at("code").integer())
        .or(() -> status.at("code").integer())
        .map(code -> word + " (" + code + ")")
        .orElse(word);
  }

  static String name(Json json) {
    Json job = json.at("job");
    return job.string()
        .or(() -> json.at("name").string())
        .or(() -> joined(job))
        .or(() -> joined(json))
        .or(() -> joined(json.at("key")))
        .orElse("?");
  }

  private static Optional<String> joined(Json key) {
    return key.at("deployment")
        .string()
        .flatMap(
            deployment ->
                key.at("name")
                    .string()
                    .or(() -> key.at("service").string())
                    .map(name -> deployment + "/" + name));
  }

  private static String trigger(Json execution) {
    Json trigger = execution.at("trigger");
    return trigger
        .string()
        .or(() -> trigger.at("source").string())
        .or(() -> trigger.at("type").string())
        .orElse("-");
  }

  private static String attempts(Json execution) {
    Json attempts = execution.at("attempts");
    return attempts
        .integer()
        .map(String::valueOf)
        .orElseGet(() -> String.valueOf(attempts.items().size()));
  }

  private static String age(Json json, String name, Instant now) {
    return json.at(name)
        .string()
        .or(() -> json.at(name + "_at").string())
        .map(then -> Amounts.age(Instant.parse(then), now))
        .orElse("-");
  }

  private static String took(Json execution) {
    Optional<Instant> from = time(execution, "started");
    Optional<Instant> to = time(execution, "finished");
    return from.isPresent() && to.isPresent()
        ? Amounts.took(Duration.between(from.get(), to.get()))
        : "-";
  }

  private static Optional<Instant> time(Json json, String name) {
    return json.at(name).string().or(() -> json.at(name + "_at").string()).map(Instant::parse);
  }

  private static String until(String then, Instant now) {
    Duration left = Duration.between(now, Instant.parse(then));
    return left.isNegative() ? "now" : "in " + Amounts.briefAge(now, now.plus(left));
  }

  private static void line(StringBuilder text, String title, String value) {
    text.append("%-12s %s%n".formatted(title, value));
  }
}
