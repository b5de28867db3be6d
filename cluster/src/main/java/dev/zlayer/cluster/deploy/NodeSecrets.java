package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterState.Place;
import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.secret.SecretId;
import dev.zlayer.cluster.secret.StoredSecrets;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * Has the secrets on this node that it needs, in their newest version. Which ones exist it sees in
 * the state that every node follows; for values it asks a node that can open them. What it has it
 * keeps while the deployment is here and the secret exists, also when no replica uses it at the
 * moment: a service that was rolled back needs what its earlier revision used.
 */
public final class NodeSecrets implements Owner.State, SecretGate {
  private static final Duration ROUND = Duration.ofMillis(250);
  private static final Duration AGAIN = Duration.ofSeconds(1);
  private static final Duration LIMIT = Duration.ofSeconds(5);

  /** Where this node keeps what it was given, sealed by its own key. */
  public interface Holder {
    /** Deployments of the cluster whose secrets are held, if only none of them. */
    Set<String> deployments();

    /** Those of one, with the version of each. */
    Map<SecretId, StoredSecrets.Value> held(String deployment);

    /** Replaces those of a deployment; who uses one that has changed is rolled. */
    void hold(String deployment, Map<SecretId, StoredSecrets.Value> secrets);

    /** Forgets those of a deployment. */
    void drop(String deployment);

    /**
     * Whether the name is that of a deployment of this node alone, which has secrets of its own.
     */
    boolean own(String deployment);

    /** Whether something of a deployment of the cluster is on this node still. */
    boolean present(String deployment);
  }

  /** The nodes that can open secrets. */
  @FunctionalInterface
  public interface Opener {
    /** What this node needs of a deployment, as the cluster has it now. */
    List<StoredSecrets.Value> ask(String deployment) throws InterruptedException;
  }

  /**
   * What was settled of a deployment.
   *
   * @param revision of the state by which nothing was missing
   * @param assignment the change of the assignment that this was about
   * @param using its services and jobs that refer to secrets
   */
  private record Settled(long revision, long assignment, Set<String> using) {}

  private final StateWatch.Source source;
  private final String node;
  private final Holder holder;
  private final Opener opener;
  private final FileCache files;
  private final Map<String, Settled> settled = new ConcurrentHashMap<>();
  private volatile Optional<String> problem = Optional.empty();
  private long seen;
  private long done;

  /** Does nothing before its owner starts. */
  public NodeSecrets(
      ClusterStore store, StateWatch.Source source, String node, Holder holder, Opener opener) {
    this.source = source;
    this.node = node;
    this.holder = holder;
    this.opener = opener;
    this.files = new FileCache(store);
  }

  /** Why it does not have what it needs. */
  public Optional<String> problem() {
    return problem;
  }

  @Override
  public Duration round() throws InterruptedException {
    try {
      Optional<String> missing = follow();
      problem = missing;
      return missing.isPresent() ? AGAIN : ROUND;
    } catch (AgentException e) {
      problem = Optional.of(String.valueOf(e.getMessage()));
      return AGAIN;
    }
  }

  private Optional<String> follow() throws InterruptedException {
    ClusterState state = source.state();
    if (state.revision() == done) {
      return Optional.empty();
    }
    if (state.revision() < seen) {
      settled.clear(); // it was restored from a backup
    }
    seen = state.revision();
    load(state);
    boolean all = true;
    var missing = new TreeSet<String>();
    var here = new HashSet<String>();
    for (String deployment : deployments(state)) {
      if (!holder.own(deployment)) {
        here.add(deployment);
        try {
          follow(state, deployment);
        } catch (AgentException e) {
          all = false;
          missing.add("secrets of deployment '%s': %s".formatted(deployment, e.getMessage()));
        }
      }
    }
    settled.keySet().retainAll(here);
    for (String deployment : holder.deployments()) {
      if (!here.contains(deployment)) {
        if (holder.present(deployment)) {
          all = false; // what ends may need them to the last
        } else {
          holder.drop(deployment);
        }
      }
    }
    done = all ? state.revision() : 0;
    return missing.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", missing));
  }

  private void load(ClusterState state) throws InterruptedException {
    var needed = new HashSet<FileCache.Revision>();
    state.desired().values().forEach(one -> needed.add(revision(one)));
    state
        .assignments()
        .forEach(
            (place, one) -> {
              if (place.node().equals(node)) {
                needed.add(new FileCache.Revision(place.deployment(), one.revision()));
              }
            });
    files.load(state, needed, Deadline.after(LIMIT));
  }

  private static FileCache.Revision revision(Desired desired) {
    return new FileCache.Revision(desired.name(), desired.revision());
  }

  /** Those with a part on this node, and those with endpoints that only some may use. */
  private Set<String> deployments(ClusterState state) {
    var names = new TreeSet<String>();
    state
        .assignments()
        .keySet()
        .forEach(
            place -> {
              if (place.node().equals(node)) {
                names.add(place.deployment());
              }
            });
    state
        .desired()
        .values()
        .forEach(
            one -> {
              if (desired(state, one.name())
                  .map(SecretNeeds::users)
                  .filter(NodeSecrets::some)
                  .isPresent()) {
                names.add(one.name());
              }
            });
    return names;
  }

  private static boolean some(Set<?> set) {
    return !set.isEmpty();
  }

  private Optional<DeploymentSpec> desired(ClusterState state, String deployment) {
    return Optional.ofNullable(state.desired().get(deployment))
        .filter(one -> one.removing().isEmpty())
        .flatMap(one -> files.find(deployment, one.revision()));
  }

  /** Throws while something is missing. */
  private void follow(ClusterState state, String deployment) throws InterruptedException {
    Optional<Assignment> assigned =
        Optional.ofNullable(state.assignments().get(new Place(node, deployment)));
    Optional<DeploymentSpec> file = assigned.flatMap(one -> files.find(deployment, one.revision()));
    Optional<DeploymentSpec> desired = desired(state, deployment);
    Set<String> jobs =
        state.executions().values().stream()
            .filter(one -> one.deployment().equals(deployment))
            .filter(one -> one.node().filter(node::equals).isPresent())
            .map(ClusterExecution::job)
            .collect(Collectors.toSet());
    var needed = new TreeMap<SecretId, Long>();
    SecretNeeds.of(
            deployment,
            new SecretNeeds.Part(assigned, file, jobs, desired),
            id -> state.modified().containsKey(id.key()))
        .forEach(id -> needed.put(id, state.modified().get(id.key())));
    Map<SecretId, StoredSecrets.Value> held = holder.held(deployment);
    var next = new HashMap<>(held);
    next.keySet().removeIf(id -> !state.modified().containsKey(id.key()));
    boolean current =
        needed.entrySet().stream()
            .allMatch(
                one ->
                    Optional.ofNullable(next.get(one.getKey()))
                        .filter(value -> value.version() == one.getValue())
                        .isPresent());
    if (!current) {
      opener.ask(deployment).forEach(value -> next.put(value.id(), value));
    }
    Set<String> using = file.map(SecretNeeds::using).orElse(Set.of());
    boolean refers =
        !using.isEmpty() || desired.map(SecretNeeds::users).filter(NodeSecrets::some).isPresent();
    boolean unknown = refers && !holder.deployments().contains(deployment);
    if (!next.equals(held) || unknown) {
      holder.hold(deployment, next);
    }
    needed.keySet().removeAll(next.keySet());
    if (!needed.isEmpty()) {
      // removed since, which the state says in a moment, or in a file that who gives cannot read
      throw new AgentException.Unavailable("not given yet: " + needed.firstKey());
    }
    settled.put(
        deployment,
        new Settled(
            state.revision(),
            state.modified().getOrDefault(StoreKeys.assignment(node, deployment), 0L),
            using));
  }

  @Override
  public boolean applies(ClusterState state, String deployment, Desired.File file) {
    Settled known = settled.get(deployment);
    long assignment =
        state.modified().getOrDefault(StoreKeys.assignment(node, deployment), Long.MAX_VALUE);
    if (known != null && known.revision() >= assignment) {
      return true;
    }
    try {
      DeploymentSpec spec =
          ClusterFile.read(deployment, file.text().getBytes(StandardCharsets.UTF_8));
      return SecretNeeds.using(spec).isEmpty();
    } catch (AgentException _) {
      return true; // the engine says what is wrong with it
    }
  }

  @Override
  public boolean starts(ClusterState state, ClusterExecution execution) {
    Settled known = settled.get(execution.deployment());
    if (known == null) {
      return false;
    }
    long given = state.modified().getOrDefault(execution.key(), Long.MAX_VALUE);
    long assignment =
        state.modified().getOrDefault(StoreKeys.assignment(node, execution.deployment()), 0L);
    return known.revision() >= given
        || (known.assignment() == assignment && !known.using().contains(execution.job()));
  }
}
