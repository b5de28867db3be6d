package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Shorthand;
import java.time.Duration;

/** Something that must be there before this service starts. */
@Doc("A dependency on another service or job.")
@Shorthand(value = "service", as = "the name of a service")
public record DependsSpec(
    @Doc("Name of the service or job.") String service,
    @Doc(
            "started: its process runs; healthy: its health check passes; ready: it receives "
                + "traffic; completed: the job exited with 0.")
        @Default("healthy")
        Condition condition,
    @Doc("Time to wait.") @Default("300s") Duration timeout,
    @Doc("What to do on timeout: fail, warn and continue, or continue silently.") @Default("fail")
        OnTimeout onTimeout) {
  /** What the other service must have reached. */
  public enum Condition {
    STARTED,
    HEALTHY,
    READY,
    COMPLETED
  }

  /** What to do when it does not get there in time. */
  public enum OnTimeout {
    FAIL,
    WARN,
    CONTINUE
  }
}
