package dev.zlayer.spec.check;

import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.service.LifecycleSpec;
import dev.zlayer.spec.service.ScaleSpec;
import dev.zlayer.spec.service.UpdateSpec;

/** What cannot be together with one replica at most. */
final class SingleInstanceCheck {
  private SingleInstanceCheck() {}

  static void check(ServiceSpec service, SpecPath path, Findings findings) {
    LifecycleSpec lifecycle = service.lifecycle();
    if (!lifecycle.single()) {
      return;
    }
    if (service.rtype() != RunType.SERVICE) {
      findings.problem(
          path.key("single_instance"),
          "is for services, write cron.overlap: forbid or job.concurrency: 1");
      return;
    }
    if (!lifecycle.replicaGroups().isEmpty()) {
      findings.problem(
          path.key("replica_groups"), "contradicts single_instance, remove one of both");
    }
    scale(lifecycle.scale(), path.key("scale"), findings);
    update(lifecycle.update(), path.key("update"), findings);
    if (service.security().pidMode().filter(mode -> !mode.equals("private")).isPresent()) {
      findings.problem(
          path.key("pid_mode"),
          "contradicts single_instance, whose processes end with the first one of their own"
              + " namespace, remove one of both");
    }
  }

  private static void scale(ScaleSpec scale, SpecPath path, Findings findings) {
    String most = "contradicts single_instance, write at most 1 or remove one of both";
    switch (scale) {
      case ScaleSpec.Fixed(int replicas) -> refuse(replicas > 1, path, "replicas", most, findings);
      case ScaleSpec.Manual(int replicas) -> refuse(replicas > 1, path, "replicas", most, findings);
      case ScaleSpec.Adaptive adaptive -> {
        boolean written = findings.written(path.key("max"));
        refuse(written && adaptive.max() > 1, path, "max", most, findings);
        refuse(!written && adaptive.min() > 1, path, "min", most, findings);
      }
    }
  }

  private static void update(UpdateSpec update, SpecPath path, Findings findings) {
    refuse(
        update.strategy() != UpdateSpec.Strategy.STOP_FIRST
            && findings.written(path.key("strategy")),
        path,
        "strategy",
        "would run two at a time, write stop_first, which single_instance means without it",
        findings);
    refuse(
        update.maxSurge().filter(most -> most > 0).isPresent(),
        path,
        "max_surge",
        "would run two at a time, write 0 or remove it",
        findings);
  }

  private static void refuse(
      boolean wrong, SpecPath path, String key, String reason, Findings findings) {
    if (wrong && findings.clean(path)) {
      findings.problem(path.key(key), reason);
    }
  }
}
