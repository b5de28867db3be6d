package dev.zlayer.engine.service;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.service.ScaleSpec;
import java.util.Optional;

/** Whether a person may choose the number of replicas. Pure. */
final class ManualScale {
  private static final int MOST = 1000;

  private ManualScale() {}

  static ServiceRecord scaled(ServiceRecord record, Optional<ServiceSpec> spec, int replicas) {
    if (spec.isEmpty()) {
      throw new AgentException.NotFound("service '" + record.key() + "'", "bring it up first");
    }
    if (!spec.get().lifecycle().replicaGroups().isEmpty()) {
      throw refused(record, "its replica groups have fixed counts, change them in the file");
    }
    if (spec.get().lifecycle().single() && replicas > 1) {
      throw refused(record, "its file has 'single_instance: true', which means one at most");
    }
    switch (spec.get().lifecycle().scale()) {
      case ScaleSpec.Fixed fixed -> {
        if (fixed.replicas() != replicas) {
          throw refused(
              record,
              "its file fixes the number to %d, write 'mode: manual' to choose it by hand"
                  .formatted(fixed.replicas()));
        }
      }
      case ScaleSpec.Adaptive adaptive -> {
        requireWithin(record, replicas, adaptive.min(), adaptive.max());
        if (replicas == 0) {
          return record.becomeIdle();
        }
      }
      case ScaleSpec.Manual _ -> requireWithin(record, replicas, 0, MOST);
    }
    return record.replicas(Optional.of(replicas));
  }

  private static void requireWithin(ServiceRecord record, int replicas, int min, int max) {
    if (replicas < min || replicas > max) {
      throw refused(
          record, "%d is not between %d and %d, as its file wants".formatted(replicas, min, max));
    }
  }

  private static AgentException refused(ServiceRecord record, String reason) {
    return new AgentException.InvalidSpec(
        "service '%s' cannot be scaled: %s".formatted(record.key(), reason));
  }
}
