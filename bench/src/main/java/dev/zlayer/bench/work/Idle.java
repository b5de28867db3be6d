package dev.zlayer.bench.work;

import dev.zlayer.bench.Options;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.engine.ZlayerDaemon;
import dev.zlayer.task.Pauses;
import java.time.Duration;
import java.util.function.DoubleSupplier;

/** Processor time while nobody asks for anything. */
final class Idle {
  /** What was compiled and collected because of the start is not what idling costs. */
  private static final Duration LULL = Duration.ofSeconds(60);

  private static final Duration WINDOW = Duration.ofSeconds(40);
  private static final Duration SHORT = Duration.ofSeconds(1);

  private Idle() {}

  /** Of a core, by the daemon alone. */
  static double percent(Options options, ZlayerDaemon daemon) throws InterruptedException {
    settle(options);
    return percent(options, daemon::cpuSeconds);
  }

  /** Waits until what was done before has no more part in it. */
  static void settle(Options options) throws InterruptedException {
    Pauses.REAL.pause(brief(options) ? SHORT : LULL);
  }

  /** Of a core, by whatever {@code cpuSeconds} counts. */
  static double percent(Options options, DoubleSupplier cpuSeconds) throws InterruptedException {
    double before = cpuSeconds.getAsDouble();
    double seconds;
    try {
      seconds = Rounds.millis(() -> Pauses.REAL.pause(brief(options) ? SHORT : WINDOW)) / 1000;
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
    return 100 * (cpuSeconds.getAsDouble() - before) / seconds;
  }

  private static boolean brief(Options options) {
    return options.effort() == Options.Effort.SMOKE;
  }
}
