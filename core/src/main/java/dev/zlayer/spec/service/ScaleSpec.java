package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Tagged;
import java.time.Duration;
import java.util.Optional;

/** How many replicas a service has. */
@Doc("Number of replicas, selected by mode.")
@Tagged(by = "mode")
public sealed interface ScaleSpec {
  /** Replicas to begin with. */
  int initial();

  /** As many as the load asks for. */
  @Doc("Between min and max, depending on load.")
  record Adaptive(
      @Doc(
              "Minimum number of replicas; 0 stops the last one after idle and starts one for the"
                  + " next request.")
          @Default("1")
          @Range(min = 0, max = 1000)
          int min,
      @Doc("Maximum number of replicas.") @Default("10") @Range(min = 1, max = 1000) int max,
      @Doc("Minimum time between changes.") @Default("30s") Duration cooldown,
      @Doc("Target load; without one the service stays at min.") @Default("{}") Targets targets,
      @Doc("With min 0: time without requests until the service has no replica (default: 5m).")
          Optional<Duration> idle)
      implements ScaleSpec {
    /** Also one that may have none begins with one, so that what is wrong with it is seen. */
    @Override
    public int initial() {
      return Math.max(1, min);
    }

    /** The written time, else the usual one. */
    public Duration idleTime() {
      return idle.orElse(Duration.ofMinutes(5));
    }

    /** Whether it has no replica while nobody asks for it. */
    public boolean toZero() {
      return min == 0;
    }
  }

  /** Always the same number. */
  @Doc("A fixed number.")
  record Fixed(@Doc("Number of replicas.") @Range(min = 0, max = 1000) int replicas)
      implements ScaleSpec {
    @Override
    public int initial() {
      return replicas;
    }
  }

  /** As many as was last asked for on the command line. */
  @Doc("Set by 'zlayer scale'.")
  record Manual(
      @Doc("Initial number of replicas.") @Default("1") @Range(min = 0, max = 1000) int replicas)
      implements ScaleSpec {
    @Override
    public int initial() {
      return replicas;
    }
  }

  /** The load that adaptive scaling aims at. */
  @Doc("Target load per replica for adaptive scaling.")
  record Targets(
      @Doc("Percent of the cpu limit.") Optional<Double> cpu,
      @Doc("Percent of the memory limit.") Optional<Double> memory,
      @Doc("Requests per second, counted by the ingress.") Optional<Double> rps) {}
}
