package dev.zlayer.runtime.observe;

import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Samples all containers again and again on one thread: often while somebody looks, seldom
 * otherwise, so that watching costs next to nothing when nobody does.
 */
public final class SamplerLoop implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(SamplerLoop.class.getName());

  /** So long after a question the next one is expected. */
  private static final Duration INTEREST = Duration.ofSeconds(30);

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
    try {
      do {
        try {
          sampler.sampleAll();
        } catch (RuntimeException e) {
          LOG.log(System.Logger.Level.WARNING, "a reading failed", e);
        }
      } while (pause());
    } catch (InterruptedException _) {
      // the end
    }
  }

  /** Looks every {@code often} whether somebody is interested; false at the end. */
  private boolean pause() throws InterruptedException {
    Duration slept = Duration.ZERO;
    do {
      if (stop.tryAcquire(often.toNanos(), TimeUnit.NANOSECONDS)) {
        return false;
      }
      slept = slept.plus(often);
    } while (slept.compareTo(seldom) < 0 && !interest());
    return true;
  }

  private boolean interest() {
    return Duration.between(sampler.asked(), clock.instant()).compareTo(INTEREST) <= 0;
  }

  @Override
  public void close() {
    stop.release();
  }
}
