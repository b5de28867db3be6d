package dev.zlayer.engine.service;

import dev.zlayer.spec.service.UpdateSpec;
import dev.zlayer.task.Saturating;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Roll-outs in which old and new replicas serve side by side: how many new ones each stage has,
 * which share of the requests they get, and whether they do well enough for the next. Pure.
 */
final class RolloutPlanner {
  private static final double WHOLE = 100;

  /** Fewer failed requests may be chance. */
  private static final long FEWEST_ERRORS = 3;

  private static final int LARGEST_WEIGHT = 256;

  private RolloutPlanner() {}

  /**
   * A part of a roll-out.
   *
   * @param percent of the requests that new replicas get
   * @param fresh new replicas that there have to be
   * @param watched it lasts for a time in which nothing may go wrong; else until the new replicas
   *     are ready
   */
  record Stage(double percent, int fresh, boolean watched) {}

  /** Before each share its replicas are started. */
  static List<Stage> stages(UpdateSpec update, int replicas) {
    var shares = new ArrayList<Double>();
    if (update.strategy() == UpdateSpec.Strategy.CANARY) {
      update.canarySteps().forEach(step -> shares.add(step.percent()));
    }
    shares.add(WHOLE);
    var stages = new ArrayList<Stage>();
    double before = 0;
    for (double share : shares) {
      int fresh = Math.max(1, (int) Math.ceil(replicas * share / WHOLE));
      stages.add(new Stage(before, fresh, false));
      stages.add(new Stage(share, fresh, true));
      before = share;
    }
    return stages;
  }

  /** Requests that were sent to some replicas during a stage. */
  record Served(long requests, long errors) {
    static final Served NONE = new Served(0, 0);

    double rate() {
      return requests == 0 ? 0 : Math.min(WHOLE, WHOLE * errors / requests);
    }
  }

  /** What follows from a stage. */
  enum Verdict {
    WAIT,
    NEXT,
    BACK
  }

  /**
   * Decides about a stage.
   *
   * @param ready new replicas that have proved to work
   * @param since when the stage began; nothing before it was seen once
   * @param oldRate percent of requests to old replicas that failed, when they last had any
   */
  static Verdict judge(
      UpdateSpec update,
      Stage stage,
      int ready,
      Optional<Instant> since,
      Served fresh,
      double oldRate,
      Instant now) {
    if (!stage.watched()) {
      return ready >= stage.fresh() ? Verdict.NEXT : Verdict.WAIT;
    }
    if (failing(update, fresh, oldRate)) {
      return Verdict.BACK;
    }
    boolean over =
        since.map(from -> !now.isBefore(Saturating.plus(from, update.bakeTime()))).orElse(false);
    return over && ready >= stage.fresh() ? Verdict.NEXT : Verdict.WAIT;
  }

  private static boolean failing(UpdateSpec update, Served fresh, double oldRate) {
    return fresh.errors() >= FEWEST_ERRORS && fresh.rate() > oldRate + update.errorRate().percent();
  }

  /** Why it was rolled back. */
  static String reason(UpdateSpec update, Stage stage, Served fresh, double oldRate) {
    return String.format(
        Locale.ROOT,
        "%d of %d requests to the new replicas failed (%.1f%%; %.1f%% of those to the old ones)"
            + " with %s of the requests; max_error_rate is %s",
        fresh.errors(),
        fresh.requests(),
        fresh.rate(),
        oldRate,
        share(stage),
        update.errorRate());
  }

  static String share(Stage stage) {
    return (stage.percent() == Math.rint(stage.percent())
            ? Integer.toString((int) stage.percent())
            : Double.toString(stage.percent()))
        + "%";
  }

  /** What each replica counts among all; 0 gets no requests. */
  record Weights(int fresh, int old) {
    static final Weights EQUAL = new Weights(1, 1);
  }

  /** So that so many new replicas together get that share beside so many old ones. */
  static Weights weights(double percent, int fresh, int old) {
    if (fresh == 0 || old == 0) {
      return Weights.EQUAL;
    }
    double one = percent * old;
    double other = (WHOLE - percent) * fresh;
    double scale = LARGEST_WEIGHT / Math.max(one, other);
    return new Weights(weight(one * scale), weight(other * scale));
  }

  private static int weight(double exact) {
    return exact == 0 ? 0 : (int) Math.max(1, Math.round(exact));
  }
}
