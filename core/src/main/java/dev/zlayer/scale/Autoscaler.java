package dev.zlayer.scale;

import dev.zlayer.spec.service.ScaleSpec;
import dev.zlayer.task.Saturating;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * How many replicas the load asks for. Pure. Load is smoothed, one replica comes or goes at a time,
 * and between "too much" and "too little" there is a wide band in which nothing happens, so that
 * the number does not swing.
 */
public final class Autoscaler {
  /** Weight of the newest reading. */
  private static final double FRESH = 0.3;

  /** Share of the target that the load after removing a replica must stay below. */
  private static final double SLACK = 0.8;

  /**
   * Load of all replicas on average; absent when it is unknown.
   *
   * @param cpu in percent of the limit, as {@code memory}
   * @param requests per second
   */
  public record Load(OptionalDouble cpu, OptionalDouble memory, OptionalDouble requests) {}

  /**
   * What is remembered from reading to reading.
   *
   * @param changedAt when the number was last changed
   */
  public record Memory(
      OptionalDouble cpu,
      OptionalDouble memory,
      OptionalDouble requests,
      Optional<Instant> changedAt) {
    public static final Memory NONE =
        new Memory(
            OptionalDouble.empty(),
            OptionalDouble.empty(),
            OptionalDouble.empty(),
            Optional.empty());

    public Memory changed(Optional<Instant> at) {
      return new Memory(cpu, memory, requests, at);
    }
  }

  /** The number of replicas from now on, and what to remember. */
  public record Decision(int replicas, Memory memory) {}

  private Autoscaler() {}

  public static Decision decide(
      ScaleSpec.Adaptive spec, int replicas, Memory before, Load load, Instant now) {
    var memory =
        new Memory(
            smoothed(before.cpu(), load.cpu()),
            smoothed(before.memory(), load.memory()),
            smoothed(before.requests(), load.requests()),
            before.changedAt());
    int least = spec.initial(); // having none is not a matter of load
    int most = Math.max(least, spec.max());
    int wanted = Math.clamp(wanted(spec.targets(), replicas, memory), least, most);
    boolean cooling =
        memory
            .changedAt()
            .map(at -> now.isBefore(Saturating.plus(at, spec.cooldown())))
            .orElse(false);
    boolean outside = replicas < least || replicas > most;
    if (wanted == replicas || (cooling && !outside)) {
      return new Decision(replicas, memory);
    }
    return new Decision(wanted, memory.changed(Optional.of(now)));
  }

  private static int wanted(ScaleSpec.Targets targets, int replicas, Memory memory) {
    double use =
        Math.max(
            Math.max(share(targets.cpu(), memory.cpu()), share(targets.memory(), memory.memory())),
            share(targets.rps(), memory.requests()));
    if (use < 0) {
      return replicas;
    }
    if (use >= 1) {
      return replicas + 1;
    }
    boolean fewerWouldDo = replicas > 1 && use * replicas / (replicas - 1) < SLACK;
    return fewerWouldDo ? replicas - 1 : replicas;
  }

  /** The load as a share of its target; negative when there is no target or no reading. */
  private static double share(Optional<Double> target, OptionalDouble load) {
    return target.isPresent() && load.isPresent() ? load.getAsDouble() / target.get() : -1;
  }

  private static OptionalDouble smoothed(OptionalDouble before, OptionalDouble fresh) {
    if (fresh.isEmpty() || before.isEmpty()) {
      return fresh.isPresent() ? fresh : before;
    }
    return OptionalDouble.of(
        before.getAsDouble() + FRESH * (fresh.getAsDouble() - before.getAsDouble()));
  }
}
