package dev.zlayer.runtime.observe;

import dev.zlayer.task.LazyLogger;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Samples containers again and again on one thread: often those that somebody asks for, the others
 * seldom, and the more seldom the more there are, so that idle ones cost next to nothing.
 */
public final class SamplerLoop implements AutoCloseable {
  private static final System.Logger LOG = LazyLogger.of(SamplerLoop.class);

  /** So long after a question the next one is expected. */
  private static final Duration INTEREST = Duration.ofSeconds(30);

  /** A reading costs a quarter of a millisecond: what nobody asks for takes 0.25 % of a core. */
  private static final Duration EACH = Duration.ofMillis(100);

  private final StatsSampler sampler;
  private final InstantSource clock;
  private final Duration often;
  private final Duration seldom;
  private final Semaphore stop = new Semaphore(0);
  private final Thread thread;

  private SamplerLoop(StatsSampler sampler, InstantSource clock, Duration often, Duration seldom) {
    this.sampler = sampler;
    this.clock = clock;
    this.often = often;
    this.seldom = seldom;
    this.thread = Thread.ofVirtual().name("stats-sampler").unstarted(this::run);
  }

  public static SamplerLoop start(StatsSampler sampler, InstantSource clock) {
    return start(sampler, clock, Duration.ofSeconds(1), Duration.ofSeconds(10));
  }

  static SamplerLoop start(
      StatsSampler sampler, InstantSource clock, Duration often, Duration seldom) {
    var loop = new SamplerLoop(sampler, clock, often, seldom);
    loop.thread.start();
    return loop;
  }

  private void run() {
    Duration since = Duration.ofDays(1); // since all were sampled: at first at once
    try {
      do {
        boolean all = since.compareTo(seldom) >= 0 && since.compareTo(pace()) >= 0;
        since = all ? Duration.ZERO : since.plus(often);
        sample(all);
      } while (!stop.tryAcquire(often.toNanos(), TimeUnit.NANOSECONDS));
    } catch (InterruptedException _) {
      // the end
    }
  }

  private void sample(boolean all) {
    try {
      if (all) {
        sampler.sampleAll();
      } else {
        sampler.sampleAsked(clock.instant().minus(INTEREST));
      }
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, "a reading failed", e);
    }
  }

  private Duration pace() {
    return EACH.multipliedBy(sampler.size());
  }

  @Override
  public void close() {
    stop.release();
  }
}
