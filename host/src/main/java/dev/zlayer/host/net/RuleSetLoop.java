package dev.zlayer.host.net;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.RuleSet;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Threads;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;

/**
 * Lets those who own tables of nftables restore them when somebody else removed them: `nft flush
 * ruleset`, a restart of the host's firewall. Until then a port that is published on loopback could
 * be reached through a route, and networks reach each other. Each second the kernel is asked for
 * the number of the last change, which takes it some microseconds; only when that is another one
 * are the tables listed, at most once in a few seconds, since changes of our own are changes, too.
 */
public final class RuleSetLoop implements AutoCloseable {
  private static final System.Logger LOG = LazyLogger.of(RuleSetLoop.class);
  private static final Duration PERIOD = Duration.ofSeconds(1);
  private static final Duration BETWEEN_CHECKS = Duration.ofSeconds(4);

  /** Writes the rules of one owner anew unless they are there. */
  @FunctionalInterface
  public interface Check {
    void restore() throws InterruptedException;
  }

  private final List<Check> checks;
  private final Pauses pauses;
  private final Thread thread;

  private RuleSetLoop(List<Check> checks, Pauses pauses) {
    this.checks = List.copyOf(checks);
    this.pauses = pauses;
    this.thread = Thread.ofVirtual().name("rule-set").unstarted(this::run);
  }

  public static RuleSetLoop start(List<Check> checks, Pauses pauses) {
    var loop = new RuleSetLoop(checks, pauses);
    loop.thread.start();
    return loop;
  }

  @Override
  public void close() {
    thread.interrupt();
    Threads.join(thread);
  }

  private void run() {
    OptionalLong checked = OptionalLong.empty();
    try {
      while (true) {
        pauses.pause(PERIOD);
        OptionalLong now = generation();
        if (!now.equals(checked)) {
          for (Check check : checks) {
            restore(check);
          }
          // what the checks wrote is read again by the next one, and then nothing changes any more
          checked = now;
          pauses.pause(BETWEEN_CHECKS);
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // closed
    }
  }

  private static OptionalLong generation() {
    try {
      return RuleSet.generation();
    } catch (IOException e) {
      LOG.log(System.Logger.Level.DEBUG, "the kernel does not say when rules change", e);
      return OptionalLong.empty();
    }
  }

  private static void restore(Check check) throws InterruptedException {
    try {
      check.restore();
    } catch (AgentException e) {
      LOG.log(
          System.Logger.Level.WARNING,
          "rules of the firewall cannot be restored: " + e.getMessage());
    }
  }
}
