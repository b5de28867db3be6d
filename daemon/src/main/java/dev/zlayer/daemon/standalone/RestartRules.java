package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerId;
import dev.zlayer.engine.state.Change;
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
  private static final String CHANGED = "standalone.restart";

  private final StateStore store;

  RestartRules(StateStore store) {
    this.store = store;
  }

  AfterExit of(ContainerId id, Map<String, String> created) {
    return AfterExit.read(labels(id, created));
  }

  /** The labels as they would be had the container been created with the present rules. */
  Map<String, String> labels(ContainerId id, Map<String, String> created) {
    return store
        .find(CHANGED, id.path())
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
    store.commit(
        Change.of(new Change.Put(CHANGED, id.path(), JsonText.bytes(Json.of(changed.labels())))));
  }

  Change.Delete forgotten(ContainerId id) {
    return new Change.Delete(CHANGED, id.path());
  }
}
