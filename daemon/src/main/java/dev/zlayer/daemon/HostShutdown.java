package dev.zlayer.daemon;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.Map;

/**
 * What is different when the machine goes down: containers would be ended with it, all at once, so
 * services are stopped before, those first on which nobody depends. The next start brings them
 * back.
 */
final class HostShutdown {
  private static final Duration ASKING = Duration.ofSeconds(5);

  /** Below the patience of the unit that {@code daemon install} writes, which is 90 s. */
  private static final Duration STOPPING = Duration.ofSeconds(80);

  private HostShutdown() {}

  /** Does nothing unless systemd started this process and says that the machine goes down. */
  static void prepare(Map<String, String> env, Deployments deployments, Log log)
      throws InterruptedException {
    try {
      if (env.containsKey("INVOCATION_ID") && goingDown()) {
        log.info("the machine goes down: stopping services", Map.of());
        deployments.shutdown(Deadline.after(STOPPING));
      }
    } catch (AgentException e) {
      log.warn("not all services were stopped", Map.of("reason", String.valueOf(e.getMessage())));
    }
  }

  private static boolean goingDown() throws InterruptedException {
    return Processes.run(Command.of("systemctl", "is-system-running"), Deadline.after(ASKING))
        .stdout()
        .strip()
        .equals("stopping");
  }
}
