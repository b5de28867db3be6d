package dev.zlayer.host.process;

import dev.zlayer.host.net.OutsidePorts;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Restores processes that an agent without root depends on when somebody kills them: the one that
 * holds its namespaces, and those that keep its ports. What connects its network is outside, and
 * restores itself.
 */
public final class RootlessMonitor implements AutoCloseable {
  private static final System.Logger LOG = LazyLogger.of(RootlessMonitor.class);

  private final Semaphore stop = new Semaphore(0);

  private RootlessMonitor() {}

  /** For an agent that depends on none. */
  public static RootlessMonitor none() {
    return new RootlessMonitor();
  }

  public static RootlessMonitor start(RootlessHost host) {
    var monitor = new RootlessMonitor();
    Thread.ofVirtual().name("rootless-monitor").start(() -> monitor.run(host));
    return monitor;
  }

  private void run(RootlessHost host) {
    try {
      do {
        try {
          host.restore();
        } catch (IOException | RuntimeException e) {
          LOG.log(System.Logger.Level.WARNING, "namespaces are held by no process", e);
        }
        OutsidePorts.supervise();
      } while (!stop.tryAcquire(1, TimeUnit.SECONDS));
    } catch (InterruptedException _) {
      // the end
    }
  }

  @Override
  public void close() {
    stop.release();
  }
}
