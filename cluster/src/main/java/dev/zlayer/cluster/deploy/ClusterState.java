package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.deploy.Desired.Report;
import dev.zlayer.cluster.member.Keys;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.cluster.network.NodeSubnet;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.cluster.store.Election;
import dev.zlayer.task.Deadline;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

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
 * @param executions of jobs that have not ended, by key
 * @param schedules how far they have come, by key
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
    Map<String, ClusterExecution> executions,
    Map<String, ClusterSchedule> schedules) {
  /** A deployment on a node. */
  public record Place(String node, String deployment) implements Comparable<Place> {
    String assignment() {
      return Keys.ASSIGNMENTS + node + "/" + deployment;
    }

    String report() {
      return Keys.REPORTS + node + "/" + deployment;
    }

    String network() {
      return Keys.NETWORKS + node + "/" + deployment;
    }

    static Place of(String key, String prefix) {
      int slash = key.indexOf('/', prefix.length());
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
    return of(store.list(Keys.ALL, deadline));
  }

  static ClusterState of(ClusterStore.Snapshot snapshot) {
    var modified = new TreeMap<String, Long>();
    var members = new TreeMap<String, NodeRecord>();
    var alive = new TreeMap<String, NodeRecord.Facts>();
    var desired = new TreeMap<String, Desired>();
    var assignments = new TreeMap<Place, Assignment>();
    var reports = new TreeMap<Place, Report>();
    var volumes = new TreeMap<String, String>();
    var unplaced = new TreeMap<String, Map<String, String>>();
    var subnets = new TreeMap<String, NodeSubnet>();
    var networks = new TreeMap<Place, NodeSubnet>();
    var executions = new TreeMap<String, ClusterExecution>();
    var schedules = new TreeMap<String, ClusterSchedule>();
    Optional<String> leader = Optional.empty();
    for (Entry entry : snapshot.entries()) {
      String key = entry.key();
      modified.put(key, entry.modified());
      if (key.equals(Keys.LEADER)) {
        leader = Optional.of(entry.value());
      } else if (key.startsWith(Keys.MEMBERS)) {
        members.put(key.substring(Keys.MEMBERS.length()), NodeRecord.parse(entry.value()));
      } else if (key.startsWith(Keys.ALIVE)) {
        alive.put(key.substring(Keys.ALIVE.length()), NodeRecord.Facts.parse(entry.value()));
      } else if (key.startsWith(Keys.DESIRED)) {
        desired.put(key.substring(Keys.DESIRED.length()), Desired.parse(entry.value()));
      } else if (key.startsWith(Keys.ASSIGNMENTS)) {
        assignments.put(Place.of(key, Keys.ASSIGNMENTS), Assignment.parse(entry.value()));
      } else if (key.startsWith(Keys.REPORTS)) {
        reports.put(Place.of(key, Keys.REPORTS), Report.parse(entry.value()));
      } else if (key.startsWith(Keys.VOLUMES)) {
        volumes.put(key.substring(Keys.VOLUMES.length()), entry.value());
      } else if (key.startsWith(Keys.SUBNETS)) {
        subnets.put(key.substring(Keys.SUBNETS.length()), NodeSubnet.parse(entry.value()));
      } else if (key.startsWith(Keys.NETWORKS)) {
        networks.put(Place.of(key, Keys.NETWORKS), NodeSubnet.parse(entry.value()));
      } else if (key.startsWith(Keys.EXECUTIONS)) {
        executions.put(key, ClusterExecution.parse(entry.value()));
      } else if (key.startsWith(Keys.SCHEDULES)) {
        schedules.put(key, ClusterSchedule.parse(entry.value()));
      } else if (key.startsWith(Keys.UNPLACED)) {
        unplaced.put(
            key.substring(Keys.UNPLACED.length()),
            dev.zlayer.json.JsonText.parse(entry.value()).stringMap());
      }
    }
    return new ClusterState(
        snapshot.revision(),
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
        executions,
        schedules);
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
        node -> new Election.Term(Keys.LEADER, node, modified.getOrDefault(Keys.LEADER, 0L)));
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

  /** Replicas of a service that serve in the revision of their assignment. */
  public int ready(String deployment, String service) {
    int ready = 0;
    for (Map.Entry<String, Assignment> one : assignments(deployment).entrySet()) {
      ready += ready(new Place(one.getKey(), deployment), service).size();
    }
    return ready;
  }

  /** Of these, the numbers on one node. */
  List<Integer> ready(Place place, String service) {
    Assignment assigned = assignments.get(place);
    Report report = reports.get(place);
    if (assigned == null || report == null || report.revision() != assigned.revision()) {
      return List.of();
    }
    return report.service(service).stream()
        .flatMap(one -> one.ready().stream())
        .filter(assigned.numbers(service)::contains)
        .toList();
  }
}
