package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.deploy.Desired.Report;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.network.NodeSubnet;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.cluster.store.Election;
import dev.zlayer.container.Claim;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * All that the cluster has agreed on about deployments, as of one revision of the store.
 *
 * @param revision of the store
 * @param modified when each key was changed last, for conditions
 * @param members every node that belongs to the cluster, by id
 * @param alive what nodes that are alive say about themselves, by id
 * @param desired by name of the deployment
 * @param assignments by node and deployment
 * @param reports by node and deployment
 * @param volumes the node on which each named volume lies
 * @param leader the node that makes assignments
 * @param unplaced why replicas are not placed, by deployment and service
 * @param subnets the addresses of each node's containers
 * @param networks those of each deployment on a node
 * @param linkKeys what nodes published for encrypted packets, by id; not verified
 * @param executions of jobs that have not ended, by key
 * @param schedules how far they have come, by key
 * @param dependencies the runs of jobs for which services wait, by key
 * @param claims who alone may run something, by deployment and service
 */
public record ClusterState(
    long revision,
    Map<String, Long> modified,
    Map<String, NodeRecord> members,
    Map<String, NodeRecord.Facts> alive,
    Map<String, Desired> desired,
    Map<Place, Assignment> assignments,
    Map<Place, Report> reports,
    Map<String, String> volumes,
    Optional<String> leader,
    Map<String, Map<String, String>> unplaced,
    Map<String, NodeSubnet> subnets,
    Map<Place, NodeSubnet> networks,
    Map<String, String> linkKeys,
    Map<String, ClusterExecution> executions,
    Map<String, ClusterSchedule> schedules,
    Map<String, DependencyRun> dependencies,
    Map<String, ClusterClaim> claims) {
  /** A deployment on a node. */
  public record Place(String node, String deployment) implements Comparable<Place> {
    String assignment() {
      return StoreKeys.ASSIGNMENTS + node + "/" + deployment;
    }

    String report() {
      return StoreKeys.REPORTS + node + "/" + deployment;
    }

    String network() {
      return StoreKeys.NETWORKS + node + "/" + deployment;
    }

    static Place of(String key, String prefix) {
      int slash = key.indexOf('/', prefix.length());
      if (slash < 0) {
        throw new AgentException.InvalidSpec("it names no deployment");
      }
      return new Place(key.substring(prefix.length(), slash), key.substring(slash + 1));
    }

    @Override
    public int compareTo(Place other) {
      int order = deployment.compareTo(other.deployment);
      return order != 0 ? order : node.compareTo(other.node);
    }
  }

  /** Reads everything at once. */
  public static ClusterState read(ClusterStore store, Deadline deadline)
      throws InterruptedException {
    return of(store.list(StoreKeys.ALL, deadline));
  }

  static ClusterState of(ClusterStore.Snapshot snapshot) {
    return of(snapshot, _ -> {});
  }

  /**
   * What a node says about itself and cannot be read here, as that of a later version, counts as
   * not said: it must not keep all nodes from deciding anything.
   *
   * @param unread is told why, of each
   * @throws AgentException.Configuration something else cannot be read; nobody decides without it
   */
  static ClusterState of(ClusterStore.Snapshot snapshot, Consumer<String> unread) {
    var parts = new Parts();
    for (Entry entry : snapshot.entries()) {
      parts.modified.put(entry.key(), entry.modified());
      try {
        parts.add(entry.key(), entry.value());
      } catch (AgentException e) {
        String reason =
            "the cluster stores %s, which this agent cannot read (%s); an agent of another version"
                    .formatted(entry.key(), e.getMessage())
                + " may have written it";
        if (!parts.without(entry.key())) {
          throw new AgentException.Configuration(reason, e);
        }
        unread.accept(reason);
      }
    }
    return parts.state(snapshot.revision());
  }

  /** A state in the making. */
  private static final class Parts {
    private final Map<String, Long> modified = new TreeMap<>();
    private final Map<String, NodeRecord> members = new TreeMap<>();
    private final Map<String, NodeRecord.Facts> alive = new TreeMap<>();
    private final Map<String, Desired> desired = new TreeMap<>();
    private final Map<Place, Assignment> assignments = new TreeMap<>();
    private final Map<Place, Report> reports = new TreeMap<>();
    private final Map<String, String> volumes = new TreeMap<>();
    private final Map<String, Map<String, String>> unplaced = new TreeMap<>();
    private final Map<String, NodeSubnet> subnets = new TreeMap<>();
    private final Map<Place, NodeSubnet> networks = new TreeMap<>();
    private final Map<String, String> linkKeys = new TreeMap<>();
    private final Map<String, ClusterExecution> executions = new TreeMap<>();
    private final Map<String, ClusterSchedule> schedules = new TreeMap<>();
    private final Map<String, DependencyRun> dependencies = new TreeMap<>();
    private final Map<String, ClusterClaim> claims = new TreeMap<>();
    private Optional<String> leader = Optional.empty();

    void add(String key, String value) {
      if (key.equals(StoreKeys.LEADER)) {
        leader = Optional.of(value);
      } else if (key.startsWith(StoreKeys.MEMBERS)) {
        members.put(key.substring(StoreKeys.MEMBERS.length()), NodeRecord.parse(value));
      } else if (key.startsWith(StoreKeys.ALIVE)) {
        alive.put(key.substring(StoreKeys.ALIVE.length()), NodeRecord.Facts.parse(value));
      } else if (key.startsWith(StoreKeys.DESIRED)) {
        desired.put(key.substring(StoreKeys.DESIRED.length()), Desired.parse(value));
      } else if (key.startsWith(StoreKeys.ASSIGNMENTS)) {
        assignments.put(Place.of(key, StoreKeys.ASSIGNMENTS), Assignment.parse(value));
      } else if (key.startsWith(StoreKeys.REPORTS)) {
        reports.put(Place.of(key, StoreKeys.REPORTS), Report.parse(value));
      } else if (key.startsWith(StoreKeys.VOLUMES)) {
        volumes.put(key.substring(StoreKeys.VOLUMES.length()), value);
      } else if (key.startsWith(StoreKeys.SUBNETS)) {
        subnets.put(key.substring(StoreKeys.SUBNETS.length()), NodeSubnet.parse(value));
      } else if (key.startsWith(StoreKeys.NETWORKS)) {
        networks.put(Place.of(key, StoreKeys.NETWORKS), NodeSubnet.parse(value));
      } else if (key.startsWith(StoreKeys.LINK_KEYS)) {
        linkKeys.put(key.substring(StoreKeys.LINK_KEYS.length()), value);
      } else if (key.startsWith(StoreKeys.EXECUTIONS)) {
        executions.put(key, ClusterExecution.parse(value));
      } else if (key.startsWith(StoreKeys.SCHEDULES)) {
        schedules.put(key, ClusterSchedule.parse(value));
      } else if (key.startsWith(StoreKeys.DEPENDENCIES)) {
        dependencies.put(key, DependencyRun.parse(value));
      } else if (key.startsWith(StoreKeys.CLAIMS)) {
        claims.put(key.substring(StoreKeys.CLAIMS.length()), ClusterClaim.parse(value));
      } else if (key.startsWith(StoreKeys.UNPLACED)) {
        unplaced.put(key.substring(StoreKeys.UNPLACED.length()), JsonText.parse(value).stringMap());
      }
    }

    /** Whether decisions can be made without it. */
    boolean without(String key) {
      if (key.startsWith(StoreKeys.ALIVE)) {
        // it is not lost, so nothing of it begins elsewhere
        alive.put(key.substring(StoreKeys.ALIVE.length()), NodeRecord.Facts.UNREADABLE);
        return true;
      }
      return key.startsWith(StoreKeys.REPORTS)
          || key.startsWith(StoreKeys.NETWORKS)
          || key.startsWith(StoreKeys.UNPLACED);
    }

    ClusterState state(long revision) {
      return new ClusterState(
          revision,
          modified,
          members,
          alive,
          desired,
          assignments,
          reports,
          volumes,
          leader,
          unplaced,
          subnets,
          networks,
          linkKeys,
          executions,
          schedules,
          dependencies,
          claims);
    }
  }

  /** That a key is still as it was read. */
  Condition unchanged(String key) {
    return Optional.ofNullable(modified.get(key))
        .<Condition>map(revision -> new Condition.Unchanged(key, revision))
        .orElseGet(() -> new Condition.Absent(key));
  }

  /** Who makes assignments, and since when: its key is made and removed, never changed. */
  Optional<Election.Term> term() {
    return leader.map(
        node ->
            new Election.Term(StoreKeys.LEADER, node, modified.getOrDefault(StoreKeys.LEADER, 0L)));
  }

  /** Whether a node has, or may still have, the claim of a service or schedule. */
  boolean claimed(String deployment, String service, String node) {
    ClusterClaim claim = claims.get(Claim.of(deployment, service));
    return claim != null && claim.node().equals(node);
  }

  /** The assignments of one deployment, by node. */
  public Map<String, Assignment> assignments(String deployment) {
    var own = new TreeMap<String, Assignment>();
    assignments.forEach(
        (place, assignment) -> {
          if (place.deployment().equals(deployment)) {
            own.put(place.node(), assignment);
          }
        });
    return own;
  }

  /** The executions of a job that have not ended, oldest first. */
  public List<ClusterExecution> executions(String deployment, String job) {
    return executions.values().stream().filter(one -> one.of(deployment, job)).toList();
  }

  public Optional<ClusterSchedule> schedule(String deployment, String job) {
    return Optional.ofNullable(schedules.get(ClusterSchedule.key(deployment, job)));
  }

  public Optional<DependencyRun> dependency(String deployment, String job) {
    return Optional.ofNullable(dependencies.get(DependencyRun.key(deployment, job)));
  }

  /** Replicas of a service that serve in the revision of their assignment. */
  public int ready(String deployment, String service) {
    int ready = 0;
    for (Map.Entry<String, Assignment> one : assignments(deployment).entrySet()) {
      for (String group : one.getValue().groups(service)) {
        ready += ready(new Place(one.getKey(), deployment), group).size();
      }
    }
    return ready;
  }

  /** Of these, the numbers on one node. */
  List<Integer> ready(Place place, String group) {
    Assignment assigned = assignments.get(place);
    Report report = reports.get(place);
    if (assigned == null || report == null || !report.about(assigned)) {
      return List.of();
    }
    return report.ready(group).stream().filter(assigned.numbers(group)::contains).toList();
  }
}
