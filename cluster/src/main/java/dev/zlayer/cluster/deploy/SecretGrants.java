package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.secret.SecretId;
import dev.zlayer.cluster.secret.SecretSeal;
import dev.zlayer.cluster.secret.StoredSecrets;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Gives nodes the secrets that they need, on the nodes that can open them. What a node is to run is
 * read from the store for every request, so that it is as the cluster has it at that moment.
 */
public final class SecretGrants {
  private static final Duration LIMIT = Duration.ofSeconds(5);

  private final ClusterStore store;
  private final SecretSeal seal;
  private final StoredSecrets secrets;

  public SecretGrants(ClusterStore store, SecretSeal seal, InstantSource clock) {
    this.store = store;
    this.seal = seal;
    this.secrets = new StoredSecrets(store, clock);
  }

  /** What a node needs of a deployment; empty for one that runs nothing of it. */
  public List<StoredSecrets.Value> of(String node, String deployment) throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    SecretNeeds.Part part = part(node, deployment, deadline);
    Set<SecretId> existing =
        secrets.list().stream().map(StoredSecrets.Listed::id).collect(Collectors.toSet());
    var given = new ArrayList<StoredSecrets.Value>();
    for (SecretId id : SecretNeeds.of(deployment, part, existing::contains)) {
      secrets.value(id, seal, deadline).ifPresent(given::add);
    }
    return given;
  }

  private SecretNeeds.Part part(String node, String deployment, Deadline deadline)
      throws InterruptedException {
    Optional<Assignment> assigned =
        store
            .find(StoreKeys.assignment(node, deployment), deadline)
            .map(entry -> Assignment.parse(entry.value()));
    Optional<DeploymentSpec> file =
        assigned.isPresent()
            ? spec(deployment, assigned.get().revision(), deadline)
            : Optional.empty();
    var jobs = new HashSet<String>();
    for (Entry entry : store.list(StoreKeys.EXECUTIONS + deployment + "/", deadline).entries()) {
      ClusterExecution execution = ClusterExecution.parse(entry.value());
      if (execution.node().filter(node::equals).isPresent()) {
        jobs.add(execution.job());
      }
    }
    Optional<Desired> desired =
        store
            .find(StoreKeys.DESIRED + deployment, deadline)
            .map(entry -> Desired.parse(entry.value()))
            .filter(one -> one.removing().isEmpty());
    return new SecretNeeds.Part(
        assigned,
        file,
        jobs,
        desired.isPresent()
            ? spec(deployment, desired.get().revision(), deadline)
            : Optional.empty());
  }

  private Optional<DeploymentSpec> spec(String deployment, long revision, Deadline deadline)
      throws InterruptedException {
    Optional<Desired.File> file =
        store
            .find(StoreKeys.file(deployment, revision), deadline)
            .map(entry -> Desired.File.parse(entry.value()));
    try {
      return file.map(
          one -> ClusterFile.read(deployment, one.text().getBytes(StandardCharsets.UTF_8)));
    } catch (AgentException.InvalidSpec | AgentException.Unsupported _) {
      return Optional.empty(); // of another version: who runs it asks a node that can read it
    }
  }
}
