package dev.zlayer.engine.deployment;

import dev.zlayer.container.LogQuery;
import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.LogLines;
import java.util.List;

/** What a job printed last, for those who wonder why it failed. */
final class JobOutput {
  private static final int LAST_LINES = 20;

  private JobOutput() {}

  static List<String> lastLines(JobExecutor jobs, Execution run) {
    if (run.attempts().isEmpty()) {
      return List.of();
    }
    try (var reader =
        jobs.output(run.id(), run.attempt().number(), LogQuery.ALL.withTail(LAST_LINES))) {
      return LogLines.read(reader);
    } catch (AgentException _) {
      // kept no longer
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    return List.of();
  }
}
