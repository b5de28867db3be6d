package dev.zlayer.engine.translate;

import dev.zlayer.container.ContainerSpec;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a cluster gives one replica beside what its file says.
 *
 * @param gpus names of the devices that are its own; whichever are free when empty
 * @param variables over those of the file
 */
public record ReplicaSettings(List<String> gpus, Map<String, String> variables) {
  public static final ReplicaSettings NONE = new ReplicaSettings(List.of(), Map.of());

  public ReplicaSettings {
    gpus = List.copyOf(gpus);
    variables = Map.copyOf(variables);
  }

  /** The container of the replica. */
  public ContainerSpec of(ContainerSpec container) {
    ContainerSpec given =
        gpus.isEmpty()
            ? container
            : container.gpu().map(gpu -> container.withGpu(gpu.of(gpus))).orElse(container);
    if (variables.isEmpty()) {
      return given;
    }
    var env = new LinkedHashMap<>(given.process().env());
    env.putAll(variables);
    return given.withProcess(given.process().withEnv(env));
  }
}
