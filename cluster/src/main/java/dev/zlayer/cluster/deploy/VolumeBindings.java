package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterState.Place;
import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.schedule.Workloads;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * That named volumes of a cluster lie on this node, for whoever removes one here. It is removed
 * first and released afterwards: who is killed in between has a volume that is bound and empty, and
 * never two with different contents. What was placed here meanwhile binds it again, by the next
 * plan of the leader.
 */
public final class VolumeBindings {
  private static final Duration LIMIT = Duration.ofSeconds(5);

  private final ClusterStore store;
  private final String node;

  public VolumeBindings(ClusterStore store, String node) {
    this.store = store;
    this.node = node;
  }

  /**
   * Throws while a replica or an execution that is placed here uses it.
   *
   * @throws AgentException.Conflict which names one of them
   */
  public void requireUnused(String volume) throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    if (binding(volume, deadline).isEmpty()) {
      return;
    }
    ClusterState state = ClusterState.read(store, deadline);
    FileCache files = files(state, deadline);
    for (Map.Entry<Place, Assignment> one : state.assignments().entrySet()) {
      Place place = one.getKey();
      if (place.node().equals(node)) {
        for (PlacedGroup group : groups(files, place.deployment(), one.getValue().revision())) {
          if (!one.getValue().numbers(group.key()).isEmpty() && uses(group.spec(), volume)) {
            throw used(volume, place.deployment() + "/" + group.key());
          }
        }
      }
    }
    for (ClusterExecution one : state.executions().values()) {
      if (one.node().filter(node::equals).isPresent()
          && JobPlan.spec(state, files::find, one).filter(job -> uses(job, volume)).isPresent()) {
        throw used(volume, one.deployment() + "/" + one.job() + "/" + one.number());
      }
    }
  }

  private static AgentException used(String volume, String user) {
    return new AgentException.Conflict(
        "volume '%s' is used by '%s', which is placed on this node; stop or remove that first"
            .formatted(volume, user));
  }

  /** Whether a deployment names it, which has it here. */
  public boolean wanted(String volume) throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    if (binding(volume, deadline).isEmpty()) {
      return false;
    }
    ClusterState state = ClusterState.read(store, deadline);
    FileCache files = files(state, deadline);
    for (Desired desired : state.desired().values()) {
      Optional<DeploymentSpec> spec = files.find(desired.name(), desired.revision());
      if (spec.isEmpty() // of an agent of another version: it may
          || spec.get().services().values().stream().anyMatch(one -> uses(one, volume))) {
        return true;
      }
    }
    return false;
  }

  /** The next replica that uses it may run anywhere; whether it was bound to this node. */
  public boolean release(String volume) throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    Optional<Entry> own = binding(volume, deadline);
    return own.isPresent()
        && store
            .transact(
                List.of(new Condition.Unchanged(own.get().key(), own.get().modified())),
                List.of(new Change.Delete(own.get().key())),
                deadline)
            .applied();
  }

  private Optional<Entry> binding(String volume, Deadline deadline) throws InterruptedException {
    return store.find(StoreKeys.VOLUMES + volume, deadline).filter(one -> one.value().equals(node));
  }

  private FileCache files(ClusterState state, Deadline deadline) throws InterruptedException {
    var files = new FileCache(store);
    files.loadAll(state, deadline);
    return files;
  }

  private static List<PlacedGroup> groups(FileCache files, String deployment, long revision) {
    return files
        .find(deployment, revision)
        .map(spec -> List.copyOf(PlacedGroup.of(spec).values()))
        .orElse(List.of());
  }

  private static boolean uses(ServiceSpec spec, String volume) {
    return Workloads.demand(spec).volumes().contains(volume);
  }
}
