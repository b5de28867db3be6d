package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
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
          job.at("schedule").string().or(() -> cron.at("expression").string()).orElse("-"),
          style.state(status(last)),
          age(last, "finished", now),
          cron.at("next_run").string().map(next -> until(next, now)).orElse("-"),
          job.at("waiting_for")
              .string()
              .map(what -> "waiting for " + what)
              .or(() -> StatusText.message(job.at("last_error")))
              .orElse(""));
    }
    return table.toString();
  }

  public static String executions(List<Json> executions, Instant now, Style style) {
    boolean nodes = ContainerTable.onNodes(executions);
    var headings =
        new ArrayList<>(List.of("EXECUTION", "STATUS", "TRIGGER", "CREATED", "TOOK", "ATTEMPTS"));
    if (nodes) {
      headings.add(1, "NODE");
    }
    var table = new Table(headings.toArray(String[]::new));
    for (Json execution : executions) {
      var cells =
          new ArrayList<>(
              List.of(
                  executionName(execution),
                  style.state(status(execution)),
                  StatusText.text(execution, "trigger"),
                  age(execution, "created", now),
                  took(execution),
                  attempts(execution)));
      if (nodes) {
        cells.add(1, execution.at("node").string().orElse("-"));
      }
      table.row(cells.toArray(String[]::new));
    }
    return table.toString();
  }

  public static String queue(List<Json> queue, Instant now) {
    var table = new Table("POSITION", "EXECUTION", "PRIORITY", "TRIGGER", "WAITS");
    for (Json waiting : queue) {
      Json execution = waiting.at("execution");
      table.row(
          StatusText.number(waiting, "position"),
          executionName(execution),
          StatusText.number(execution, "priority"),
          StatusText.text(execution, "trigger"),
          age(execution, "created", now));
    }
    return table.toString();
  }

  public static String artifacts(List<Json> artifacts) {
    var table = new Table("PATH", "SIZE");
    for (Json artifact : artifacts) {
      table.row(
          StatusText.text(artifact, "path"),
          artifact.at("bytes").integer().map(HumanUnits::bytes).orElse("-"));
    }
    return table.toString();
  }

  public static String crons(List<Json> crons, Instant now, Style style) {
    var table = new Table("CRON JOB", "SCHEDULE", "ZONE", "STATE", "LAST", "NEXT", "SKIPPED", "");
    for (Json cron : crons) {
      table.row(
          name(cron),
          StatusText.text(cron, "expression"),
          StatusText.text(cron, "zone"),
          style.state(cron.at("enabled").bool().orElse(true) ? "enabled" : "disabled"),
          age(cron, "last_run", now),
          cron.at("next_run").string().map(next -> until(next, now)).orElse("-"),
          StatusText.number(cron, "skips"),
          cron.at("trouble")
              .string()
              .or(() -> cron.at("last_skip").at("reason").string().map(why -> "skipped: " + why))
              .orElse(""));
    }
    return table.toString();
  }

  /** All that a person asks about one execution. */
  public static String execution(Json execution, Instant now, Style style) {
    var text = new StringBuilder();
    line(text, "execution", executionName(execution));
    line(text, "id", StatusText.text(execution, "id"));
    line(text, "status", style.state(status(execution)));
    execution.at("reason").string().ifPresent(reason -> line(text, "reason", reason));
    line(text, "trigger", trigger(execution));
    line(text, "priority", StatusText.number(execution, "priority"));
    line(text, "created", StatusText.text(execution, "created"));
    line(text, "took", took(execution));
    for (Json attempt : execution.at("attempts").items()) {
      line(
          text,
          "attempt " + StatusText.number(attempt, "number"),
          attempt.at("error").string().or(() -> attempt.at("ended").string()).orElse("running"));
      for (Json step : attempt.at("steps").items()) {
        line(text, "step " + StatusText.text(step, "step"), step(step));
      }
      for (Json artifact : attempt.at("artifacts").items()) {
        line(
            text, "artifact", artifact.string().orElseGet(() -> StatusText.text(artifact, "path")));
      }
      attempt.at("notes").strings().forEach(note -> line(text, "not kept", note));
    }
    return text.toString();
  }

  /** {@code failed (3)}: the code belongs to the status. */
  static String status(Json execution) {
    boolean ending =
        execution.at("cancel_requested").bool().orElse(false)
            && execution.at("finished").string().isEmpty();
    String word = ending ? "cancelling" : StatusText.text(execution, "status");
    return execution.at("code").integer().map(code -> word + " (" + code + ")").orElse(word);
  }

  /** {@code deployment/job/number}. */
  private static String executionName(Json execution) {
    return execution.at("name").string().orElseGet(() -> StatusText.text(execution, "id"));
  }

  static String name(Json json) {
    return json.at("job").string().or(() -> json.at("name").string()).orElse("?");
  }

  /** {@code failed in 2 s, try 2: no such object}. */
  private static String step(Json step) {
    String took = step.at("took").string().map(Duration::parse).map(HumanUnits::took).orElse("-");
    String number = StatusText.number(step, "attempt");
    return StatusText.text(step, "result")
        + " in "
        + took
        + (number.equals("1") ? "" : ", attempt " + number)
        + step.at("error").string().map(why -> ": " + why).orElse("");
  }

  private static String trigger(Json execution) {
    return StatusText.text(execution, "trigger")
        + execution.at("remote").string().map(who -> " from " + who).orElse("")
        + execution.at("because").string().map(why -> ", " + why).orElse("");
  }

  private static String attempts(Json execution) {
    return String.valueOf(execution.at("attempts").items().size());
  }

  private static String age(Json json, String name, Instant now) {
    return json.at(name).string().map(then -> HumanUnits.age(Instant.parse(then), now)).orElse("-");
  }

  private static String took(Json execution) {
    Optional<Instant> from = time(execution, "started");
    Optional<Instant> to = time(execution, "finished");
    return from.isPresent() && to.isPresent()
        ? HumanUnits.took(Duration.between(from.get(), to.get()))
        : "-";
  }

  private static Optional<Instant> time(Json json, String name) {
    return json.at(name).string().map(Instant::parse);
  }

  private static String until(String then, Instant now) {
    Duration left = Duration.between(now, Instant.parse(then));
    return left.isNegative() ? "now" : "in " + HumanUnits.briefAge(now, now.plus(left));
  }

  private static void line(StringBuilder text, String title, String value) {
    text.append("%-12s %s%n".formatted(title, value));
  }
}
