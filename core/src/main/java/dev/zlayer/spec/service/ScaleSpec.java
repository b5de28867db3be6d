package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Tagged;
import java.time.Duration;
import java.util.Optional;

/** How many replicas a service has. */
@Doc("How many replicas a service has, chosen by mode.")
@Tagged(by = "mode")
public sealed interface ScaleSpec {
  /** Replicas to begin with. */
  int initial();

  /** As many as the load asks for. */
  @Doc("Between min and max, by load.")
  record Adaptive(
      @Doc("Fewest replicas.") @Default("1") @Range(min = 0, max = 1000) int min,
      @Doc("Most replicas.") @Default("10") @Range(min = 0, max = 1000) int max,
      @Doc("Time between two changes.") @Default("30s") Duration cooldown,
      @Doc("Load to aim at; without any the service stays at min.") @Default("{}") Targets targets)
      implements ScaleSpec {
    @Override
    public int initial() {
      return min;
    }
  }

  /** Always the same number. */
  @Doc("Always the same number.")
  record Fixed(@Doc("Number of replicas.") @Range(min = 0, max = 1000) int replicas)
      implements ScaleSpec {
    @Override
    public int initial() {
      return replicas;
    }
  }

  /** As many as was last asked for on the command line. */
  @Doc("As many as the command line last asked for.")
  record Manual(
      @Doc("Number of replicas to begin with.") @Default("1") @Range(min = 0, max = 1000)
          int replicas)
      implements ScaleSpec {
    @Override
    public int initial() {
      return replicas;
    }
  }

  /** The load that adaptive scaling aims at. */
  @Doc("The load per replica that adaptive scaling aims at.")
  record Targets(
      @Doc("Percent of the cpu limit.") Optional<Double> cpu,
      @Doc("Percent of the memory limit.") Optional<Double> memory,
      @Doc("Requests per second.") Optional<Double> rps) {}
}
