package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.cluster.deploy.ClusterPlan;
import dev.zlayer.cluster.deploy.ClusterState;
import dev.zlayer.cluster.deploy.Dependencies;
import dev.zlayer.cluster.deploy.Desired;
import dev.zlayer.json.Json;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A deployment of a cluster, as it is shown: what is desired against what all nodes report. Pure.
 *
 * @param directory where relative paths of its file start
 * @param services in the order of their names
 */
record ClusterStatus(Desired desired, String directory, List<Service> services) {
  /**
   * One service on all nodes.
   *
   * @param unplaced why replicas of it are not placed
   */
  record Service(
      String name,
      String state,
      long revision,
      int wanted,
      int ready,
      Optional<String> waitingFor,
      Optional<String> error,
      boolean unplaced) {
    boolean failed() {
      return state.equals("failed");
    }

    boolean settled() {
      return state.equals("running") || state.equals("stopped") || state.equals("idle");
    }

    /** As nodes show their own services. */
    Json json(List<Json> replicas, List<Json> endpoints) {
      return Json.object()
          .put("name", name)
          .put("state", state)
          .put("revision", revision)
          .put("wanted", wanted)
          .put("ready", ready)
          .put("replicas", new Json.Arr(replicas))
          .put("endpoints", new Json.Arr(endpoints))
          .putIf("waiting_for", waitingFor)
          .putIf("last_error", error.map(text -> Json.object().put("message", text).build()))
          .build();
    }
  }

  static ClusterStatus of(
      ClusterState state, Desired desired, DeploymentSpec spec, String directory) {
    var services = new ArrayList<Service>();
    new TreeMap<>(spec.services())
        .forEach(
            (name, service) -> {
              if (service.rtype() == RunType.SERVICE) {
                services.add(service(state, desired, spec, name, service));
              }
            });
    return new ClusterStatus(desired, directory, List.copyOf(services));
  }

  private static Service service(
      ClusterState state, Desired desired, DeploymentSpec all, String name, ServiceSpec spec) {
    String deployment = desired.name();
    int wanted = ClusterPlan.replicas(desired, name, spec);
    int ready = state.ready(deployment, name);
    int assigned = 0;
    boolean current = true;
    Optional<String> failure = Optional.empty();
    for (Map.Entry<String, Desired.Assignment> one : state.assignments(deployment).entrySet()) {
      Desired.Assignment assignment = one.getValue();
      assigned += assignment.count(name);
      current &= assignment.count(name) == 0 || assignment.revision() == desired.revision();
      failure = failure.or(() -> failure(state, one.getKey(), deployment, assignment, name));
    }
    Optional<String> unplaced =
        Optional.ofNullable(state.unplaced().getOrDefault(deployment, Map.of()).get(name));
    Optional<String> waits =
        assigned == 0 && wanted > 0
            ? Dependencies.waitsFor(state, desired, all, name)
            : Optional.empty();
    boolean there = current && ready == wanted && assigned == wanted;
    String shown =
        desired.removing().isPresent()
            ? "removing"
            : failure.isPresent() || (unplaced.isPresent() && !there)
                ? "failed"
                : waits.isPresent()
                    ? "waiting"
                    : !there
                        ? "deploying"
                        : desired.stopped().contains(name)
                            ? "stopped"
                            : wanted == 0 ? "idle" : "running";
    return new Service(
        name,
        shown,
        desired.revision(),
        wanted,
        ready,
        waits,
        failure.or(() -> unplaced),
        failure.isEmpty() && unplaced.isPresent());
  }

  /** What a node says about the revision that it was given. */
  private static Optional<String> failure(
      ClusterState state,
      String node,
      String deployment,
      Desired.Assignment assignment,
      String service) {
    return Optional.ofNullable(state.reports().get(new ClusterState.Place(node, deployment)))
        .filter(report -> report.revision() == assignment.revision())
        .filter(_ -> assignment.count(service) > 0)
        .flatMap(
            report ->
                report
                    .refused()
                    .or(
                        () ->
                            report
                                .service(service)
                                .filter(one -> one.failed() && one.refused().isEmpty())
                                .map(one -> one.error().orElse("it failed"))))
        .map(reason -> "node '%s': %s".formatted(name(state, node), reason));
  }

  private static String name(ClusterState state, String node) {
    var member = state.members().get(node);
    return member == null ? node : member.name();
  }

  /** The worst of its services decides. */
  String state() {
    if (desired.removing().isPresent()) {
      return "removing";
    }
    if (services.stream().anyMatch(Service::failed)) {
      return "failed";
    }
    if (!services.stream().allMatch(Service::settled)) {
      return "deploying";
    }
    return !services.isEmpty()
            && services.stream().allMatch(service -> service.state().equals("stopped"))
        ? "stopped"
        : "running";
  }

  /**
   * As nodes show their own deployments.
   *
   * @param parts what nodes show of it, by their names
   */
  Json json(Map<String, Json> parts) {
    var all = new ArrayList<Json>();
    for (Service service : services) {
      var replicas = new ArrayList<Json>();
      List<Json> endpoints = new ArrayList<>();
      parts.forEach(
          (node, part) ->
              part.at("services").items().stream()
                  .filter(one -> one.at("name").string().equals(Optional.of(service.name())))
                  .forEach(
                      one -> {
                        one.at("replicas").items().forEach(it -> replicas.add(on(node, it)));
                        if (endpoints.isEmpty()) {
                          endpoints.addAll(one.at("endpoints").items());
                        }
                      }));
      replicas.sort(java.util.Comparator.comparing(one -> one.at("replica").integer().orElse(0L)));
      all.add(service.json(replicas, endpoints));
    }
    return Json.object()
        .put("name", desired.name())
        .put("state", state())
        .put("revision", desired.revision())
        .put("created", desired.created())
        .put("updated", desired.updated())
        .put("directory", directory)
        .put("services", new Json.Arr(all))
        .put("jobs", List.of())
        .put("dependencies", List.of())
        .build();
  }

  /** The same object with the node that it is on. */
  static Json on(String node, Json object) {
    var members = new LinkedHashMap<>(object.members());
    members.put("node", Json.of(node));
    return new Json.Obj(members);
  }
}
