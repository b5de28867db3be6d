package dev.zlayer.engine.service;

import dev.zlayer.spec.service.ScaleSpec;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * How many replicas the load asks for. Pure. Load is smoothed, one replica comes or goes at a time,
 * and between "too much" and "too little" there is a wide band in which nothing happens, so that
 * the number does not swing.
 */
final class Autoscaler {
  /** Weight of the newest reading. */
  private static final double FRESH = 0.3;

  /** Share of the target that the load after removing a replica must stay below. */
  private static final double SLACK = 0.8;

  /** Load of all replicas on average, in percent of their limits; absent when nobody can tell. */
  record Load(OptionalDouble cpu, OptionalDouble memory) {}

  /**
   * What is remembered from reading to reading.
   *
   * @param changedAt when the number was last changed
   */
  record Memory(OptionalDouble cpu, OptionalDouble memory, Optional<Instant> changedAt) {
    static final Memory NONE =
        new Memory(OptionalDouble.empty(), OptionalDouble.empty(), Optional.empty());
  }

  /** The number of replicas from now on, and what to remember. */
  record Decision(int replicas, Memory memory) {}

  private Autoscaler() {}

  static Decision decide(
      ScaleSpec.Adaptive spec, int replicas, Memory before, Load load, Instant now) {
    var memory =
        new Memory(
            smoothed(before.cpu(), load.cpu()),
            smoothed(before.memory(), load.memory()),
            before.changedAt());
    int wanted = Math.clamp(wanted(spec.targets(), replicas, memory), spec.min(), spec.max());
    boolean cooling =
        memory
            .changedAt()
            .map(at -> now.isBefore(dev.zlayer.task.Saturating.plus(at, spec.cooldown())))
            .orElse(false);
    boolean outside = replicas < spec.min() || replicas > spec.max();
    if (wanted == replicas || (cooling && !outside)) {
      return new Decision(replicas, memory);
    }
    return new Decision(wanted, new Memory(memory.cpu(), memory.memory(), Optional.of(now)));
  }

  private static int wanted(ScaleSpec.Targets targets, int replicas, Memory memory) {
    double use =
        Math.max(share(targets.cpu(), memory.cpu()), share(targets.memory(), memory.memory()));
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
