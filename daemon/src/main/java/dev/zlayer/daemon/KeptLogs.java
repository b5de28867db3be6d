package dev.zlayer.daemon;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.LogPruning;
import java.time.Instant;
import java.util.function.BooleanSupplier;

/** Output of what has ended: executions of jobs, and containers that nobody has removed. */
record KeptLogs(JobExecutor jobs, ContainerRuntime runtime) implements DiskCollector.Logs {
  /**
   * Removes such output, of executions first, until there is enough space.
   *
   * @param before what ended later may be about to be read
   * @return the bytes of disk that this freed
   */
  @Override
  public long reclaim(Instant before, BooleanSupplier enough) {
    long freed = jobs.reclaimLogs(before, enough);
    for (Container container : runtime.list()) {
      if (enough.getAsBoolean()) {
        break;
      }
      if (container instanceof LogPruning logs
          && container.status() instanceof ContainerStatus.Exited(Outcome outcome)
          && outcome.finishedAt().filter(end -> end.isBefore(before)).isPresent()) {
        freed += logs.pruneLogs();
      }
    }
    return freed;
  }
}
