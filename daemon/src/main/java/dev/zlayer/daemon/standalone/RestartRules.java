package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerId;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.spec.service.RestartPolicySpec;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What happens after the exit of a container: as it was created with, or as it was changed since,
 * which is kept in the store, since the labels of a container never change.
 */
final class RestartRules {
  private final StoredNotes changes;

  RestartRules(StateStore store) {
    this.changes = new StoredNotes(store, "standalone.restart");
  }

  AfterExit of(ContainerId id, Map<String, String> created) {
    return AfterExit.read(labels(id, created));
  }

  /** The labels as they would be had the container been created with the present rules. */
  Map<String, String> labels(ContainerId id, Map<String, String> created) {
    return changes
        .find(id)
        .map(
            changed -> {
              var labels = new LinkedHashMap<>(created);
              labels.keySet().removeAll(AfterExit.LABELS);
              labels.putAll(JsonText.parse(changed).stringMap());
              return (Map<String, String>) labels;
            })
        .orElse(created);
  }

  /** Keeps another policy for a container. */
  void change(ContainerId id, Map<String, String> created, RestartPolicySpec policy) {
    AfterExit changed = of(id, created).with(policy);
    if (changed.remove().isPresent() && policy.kind() != RestartPolicySpec.Kind.NO) {
      throw new AgentException.InvalidSpec(
          "a container that is removed after its end cannot be restarted: create it without rm");
    }
    changes.put(id, JsonText.bytes(Json.of(changed.labels())));
  }

  void forget(ContainerId id) {
    changes.forget(id);
  }
}
