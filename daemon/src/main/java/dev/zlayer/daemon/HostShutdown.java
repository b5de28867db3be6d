package dev.zlayer.daemon;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What is different when the machine goes down: containers would be ended with it, all at once, so
 * services are stopped before, those first on which nobody depends. Closed after everything that
 * would start a container again, it stops all others: systemd waits 90 s for a first process that
 * has no handler for SIGTERM. The next start brings back what has to run.
 */
final class HostShutdown implements AutoCloseable {
  /** Everything else on the machine ends at this moment, too: an answer takes its time. */
  private static final Duration ASKING = Duration.ofSeconds(20);

  private static final Duration SERVICES = Duration.ofSeconds(60);

  /** Below the patience of the unit that {@code daemon install} writes, which is 90 s. */
  private static final Duration ALL = Duration.ofSeconds(80);

  private final Optional<LinuxParts> linux;
  private final Log log;
  private Optional<Deadline> end = Optional.empty();

  HostShutdown(Optional<LinuxParts> linux, Log log) {
    this.linux = linux;
    this.log = log;
  }

  /** Does nothing unless systemd started this process and says that the machine goes down. */
  void prepare(Map<String, String> env, Deployments deployments) throws InterruptedException {
    Deadline all = Deadline.after(ALL);
    try {
      if (env.containsKey("INVOCATION_ID") && goingDown(all.atMost(ASKING))) {
        log.info("the machine goes down: stopping services", Map.of());
        end = Optional.of(all);
        deployments.shutdown(all.atMost(SERVICES));
      }
    } catch (AgentException e) {
      log.warn("not all services were stopped", Map.of("reason", String.valueOf(e.getMessage())));
    }
  }

  private static boolean goingDown(Deadline deadline) throws InterruptedException {
    return Processes.run(Command.of("systemctl", "is-system-running"), deadline)
        .stdout()
        .strip()
        .equals("stopping");
  }

  @Override
  public void close() throws InterruptedException {
    if (end.isEmpty()) {
      return;
    }
    Deadline deadline = end.get();
    List<Container> running =
        linux.map(here -> here.oci().list()).orElse(List.of()).stream()
            .filter(one -> one.status().alive())
            .toList();
    log.info("stopping all containers", Map.of("running", running.size()));
    try (var scope = new TaskScope("host-shutdown")) {
      running.forEach(container -> scope.fork(() -> stop(container, deadline)));
      scope.join();
    }
  }

  /** One that cannot be stopped does not keep the others from it. */
  private boolean stop(Container container, Deadline deadline) throws InterruptedException {
    try {
      Duration grace = container.spec().stop().grace();
      Duration left = deadline.left();
      return container.stop(grace.compareTo(left) < 0 ? grace : left).isPresent();
    } catch (RuntimeException e) {
      log.warn(
          "not stopped",
          Map.of("container", container.id(), "reason", String.valueOf(e.getMessage())));
      return false;
    }
  }
}
