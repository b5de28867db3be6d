package dev.zlayer.spec.check;

import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.network.PortMapping;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.service.UpdateSpec;
import dev.zlayer.spec.value.NetworkMode;
import dev.zlayer.spec.value.Percentage;
import java.time.Duration;
import java.util.List;

/** How updates are rolled out: what fits to the strategy, and what the strategy needs. */
final class UpdateCheck {
  private static final List<String> OF_STAGES = List.of("max_error_rate", "bake");
  private static final List<String> OF_ROLLING = List.of("max_surge", "max_unavailable");
  private static final Duration LONGEST = Duration.ofDays(1);
  private static final double WHOLE = 100;

  private UpdateCheck() {}

  static void check(ServiceSpec service, SpecPath path, Findings findings) {
    UpdateSpec update = service.lifecycle().update();
    SpecPath here = path.key("update");
    if (service.rtype() != RunType.SERVICE || !findings.clean(here)) {
      return;
    }
    if (update.strategy() != UpdateSpec.Strategy.CANARY) {
      refuse(List.of("steps"), "is only for strategy canary, remove it", here, findings);
    }
    if (!update.strategy().staged()) {
      refuse(OF_STAGES, "is only for strategy blue_green or canary, remove it", here, findings);
      return;
    }
    refuse(OF_ROLLING, "is only for rolling updates, remove it", here, findings);
    if (!update.rollback()) {
      findings.problem(
          here.key("rollback"),
          "contradicts the strategy, which rolls back what fails, write rolling or remove it");
    }
    Duration bake = update.bakeTime();
    findings.positive(here.key("bake"), bake);
    if (bake.compareTo(LONGEST) > 0) {
      findings.problem(here.key("bake"), "is longer than a day, write at most 24h");
    }
    steps(update.steps().orElse(List.of()), here.key("steps"), findings);
    parts(service, path, findings);
  }

  private static void refuse(List<String> keys, String reason, SpecPath here, Findings findings) {
    keys.stream()
        .filter(key -> findings.written(here.key(key)))
        .forEach(key -> findings.problem(here.key(key), reason));
  }

  private static void steps(List<Percentage> steps, SpecPath here, Findings findings) {
    double before = 0;
    for (int i = 0; i < steps.size(); i++) {
      double step = steps.get(i).percent();
      if (step <= before || step >= WHOLE) {
        findings.problem(
            here.index(i),
            "must be more than the step before, and less than 100%, which comes last");
      }
      before = step;
    }
  }

  /** Both sets of replicas run side by side, and their requests can be told apart. */
  private static void parts(ServiceSpec service, SpecPath path, Findings findings) {
    SpecPath here = path.key("update");
    boolean routed =
        service.networking().endpoints().stream().anyMatch(one -> one.route().routed());
    boolean canary = service.lifecycle().update().strategy() == UpdateSpec.Strategy.CANARY;
    if (canary && !routed) {
      findings.problem(
          here.key("strategy"),
          "canary needs an endpoint that the ingress serves, write host or path at one, or"
              + " blue_green");
    }
    if (!routed && findings.written(here.key("max_error_rate"))) {
      findings.problem(
          here.key("max_error_rate"),
          "requests are counted by the ingress, write host or path at an endpoint");
    }
    if (canary && !service.lifecycle().replicaGroups().isEmpty()) {
      findings.problem(
          here.key("strategy"), "canary does not know replica groups, write blue_green");
    }
    boolean exclusive =
        service.networking().effectiveMode() instanceof NetworkMode.Host
            || service.networking().portMappings().stream()
                .map(PortMapping::hostPort)
                .anyMatch(port -> port != 0);
    if (exclusive) {
      findings.problem(
          here.key("strategy"),
          "old and new replicas cannot have the same port of the host, write stop_first");
    }
  }
}
