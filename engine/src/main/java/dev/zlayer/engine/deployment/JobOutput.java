package dev.zlayer.engine.deployment;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.error.AgentException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What a job printed last, for those who wonder why it failed. */
final class JobOutput {
  private static final int LAST_LINES = 20;

  private JobOutput() {}

  static List<String> lastLines(JobExecutor jobs, Execution run) {
    var lines = new ArrayList<String>();
    if (run.attempts().isEmpty()) {
      return lines;
    }
    try (var reader =
        jobs.output(run.id(), run.attempt().number(), LogQuery.ALL.withTail(LAST_LINES))) {
      for (Optional<LogRecord> l = reader.next(); l.isPresent(); l = reader.next()) {
        lines.add(l.get().text());
      }
    } catch (AgentException _) {
      // kept no longer
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    return lines;
  }
}
