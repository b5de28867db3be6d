package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The files of deployments that somebody needs; they never change, so each is read once. */
final class FileCache {
  private final ClusterStore store;
  private final Map<Revision, Optional<DeploymentSpec>> files = new HashMap<>();

  /** When the deployments were begun to which these belong. */
  private final Map<String, Instant> begun = new HashMap<>();

  record Revision(String deployment, long number) {}

  FileCache(ClusterStore store) {
    this.store = store;
  }

  /** All that is desired or assigned. */
  void loadAll(ClusterState state, Deadline deadline) throws InterruptedException {
    var needed = new HashSet<Revision>();
    state.desired().values().forEach(one -> needed.add(new Revision(one.name(), one.revision())));
    state
        .assignments()
        .forEach((place, one) -> needed.add(new Revision(place.deployment(), one.revision())));
    load(state, needed, deadline);
  }

  /** Reads those that are new, and forgets all others. */
  void load(ClusterState state, Set<Revision> needed, Deadline deadline)
      throws InterruptedException {
    files.keySet().retainAll(needed);
    begun.keySet().retainAll(state.desired().keySet());
    state.desired().values().forEach(this::forgetEarlier);
    for (Revision one : needed) {
      if (find(one.deployment(), one.number()).isEmpty()) {
        files.put(one, read(one, deadline));
      }
    }
  }

  /** One that was removed and begun again counts its revisions from 1 once more. */
  private void forgetEarlier(Desired desired) {
    Instant before = begun.put(desired.name(), desired.created());
    if (before != null && !before.equals(desired.created())) {
      files.keySet().removeIf(one -> one.deployment().equals(desired.name()));
    }
  }

  /** Empty when it cannot be read here. */
  Optional<DeploymentSpec> find(String deployment, long revision) {
    return files.getOrDefault(new Revision(deployment, revision), Optional.empty());
  }

  void clear() {
    files.clear();
    begun.clear();
  }

  private Optional<DeploymentSpec> read(Revision one, Deadline deadline)
      throws InterruptedException {
    Optional<Entry> found = store.find(StoreKeys.file(one.deployment(), one.number()), deadline);
    try {
      return found
          .map(entry -> Desired.File.parse(entry.value()).text().getBytes(StandardCharsets.UTF_8))
          .map(text -> ClusterFile.read(one.deployment(), text));
    } catch (AgentException _) {
      return Optional.empty(); // written by an agent of another version, which honours more
    }
  }
}
