package dev.zlayer.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;

/**
 * Lets contestants take turns, so that noise of the machine hits all alike. Who begins changes from
 * round to round. A contestant that fails three times drops out with its error as a note.
 */
public final class Rounds {
  private static final int MAX_FAILURES = 3;

  /** For the clean-up that the one before still does in the background. */
  private static final long PAUSE_MILLIS = 150;

  private Rounds() {}

  /** Something to do that may fail. */
  @FunctionalInterface
  public interface Step {
    Step NOTHING = () -> {};

    void run() throws Exception;
  }

  /** Something to do that gives the value of interest. */
  @FunctionalInterface
  public interface Measure {
    double run() throws Exception;
  }

  /**
   * Who takes part.
   *
   * @param before and {@code after}: neither timed nor counted
   */
  public record Contestant(String name, Step before, Measure work, Step after) {
    public static Contestant timed(String name, Step work) {
      return new Contestant(name, Step.NOTHING, () -> millis(work), Step.NOTHING);
    }
  }

  /** How long it takes, in milliseconds. */
  public static double millis(Step work) throws Exception {
    long start = System.nanoTime();
    work.run();
    return (System.nanoTime() - start) / 1e6;
  }

  /** First {@code warm} rounds that do not count, then {@code count} that do. */
  public static List<Report.Row> run(List<Contestant> contestants, int warm, int count)
      throws InterruptedException {
    List<Tally> tallies = contestants.stream().map(Tally::new).toList();
    for (int round = -warm; round < count; round++) {
      for (int turn = 0; turn < tallies.size(); turn++) {
        tallies.get(Math.floorMod(round + turn, tallies.size())).turn(round >= 0);
      }
    }
    return tallies.stream().map(Tally::row).toList();
  }

  private static final class Tally {
    private final Contestant contestant;
    private final List<Double> values = new ArrayList<>();
    private double cpu;
    private int failures;
    private String note = "";

    Tally(Contestant contestant) {
      this.contestant = contestant;
    }

    void turn(boolean counts) throws InterruptedException {
      if (failures >= MAX_FAILURES) {
        return;
      }
      Thread.sleep(PAUSE_MILLIS);
      try {
        contestant.before().run();
        double used = Census.cpuSeconds();
        double value = contestant.work().run();
        used = Census.cpuSeconds() - used;
        if (counts) {
          values.add(value);
          cpu += used;
        }
        contestant.after().run();
      } catch (InterruptedException e) {
        throw e;
      } catch (Exception e) {
        failures++;
        note = "failed: " + e.getMessage();
      }
    }

    Report.Row row() {
      return new Report.Row(
          contestant.name(),
          new Samples(values),
          values.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(cpu / values.size()),
          note);
    }
  }
}
