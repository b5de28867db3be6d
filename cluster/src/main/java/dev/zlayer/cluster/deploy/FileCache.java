package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.member.Keys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The files of deployments that somebody needs; they never change, so each is read once. */
final class FileCache {
  private final ClusterStore store;
  private final Map<Revision, Optional<DeploymentSpec>> files = new HashMap<>();

  record Revision(String deployment, long number) {}

  FileCache(ClusterStore store) {
    this.store = store;
  }

  /** Reads those that are new, and forgets all others. */
  void load(Set<Revision> needed, Deadline deadline) throws InterruptedException {
    files.keySet().retainAll(needed);
    for (Revision one : needed) {
      if (find(one.deployment(), one.number()).isEmpty()) {
        files.put(one, read(one, deadline));
      }
    }
  }

  /** Empty when it cannot be read here. */
  Optional<DeploymentSpec> find(String deployment, long revision) {
    return files.getOrDefault(new Revision(deployment, revision), Optional.empty());
  }

  void clear() {
    files.clear();
  }

  private Optional<DeploymentSpec> read(Revision one, Deadline deadline)
      throws InterruptedException {
    Optional<Desired.File> file =
        store
            .find(Keys.file(one.deployment(), one.number()), deadline)
            .map(entry -> Desired.File.parse(entry.value()));
    try {
      return file.map(
          found ->
              ClusterFile.read(one.deployment(), found.text().getBytes(StandardCharsets.UTF_8)));
    } catch (AgentException _) {
      return Optional.empty(); // written by an agent of another version, which honours more
    }
  }
}
