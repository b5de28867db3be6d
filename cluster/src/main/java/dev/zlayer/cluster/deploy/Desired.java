package dev.zlayer.cluster.deploy;

import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A deployment as the cluster wants it. Its file is a {@link File} of its own, which never changes.
 *
 * @param revision the newest one, which is wanted
 * @param scale numbers of replicas that somebody chose, by service
 * @param stopped services that somebody stopped
 * @param removing it is being removed; true with its volumes
 */
public record Desired(
    String name,
    long revision,
    Instant created,
    Instant updated,
    Map<String, Integer> scale,
    List<String> stopped,
    Optional<Boolean> removing) {
  public Desired {
    scale = Map.copyOf(scale);
    stopped = List.copyOf(stopped);
  }

  /** The text of one revision. */
  public record File(
      String deployment, long number, Instant at, String reason, String directory, String text) {
    String json() {
      return JsonText.print(RecordJson.write(this));
    }

    static File parse(String json) {
      return RecordJson.read(JsonText.parse(json), File.class);
    }
  }

  /**
   * What a node runs of a deployment.
   *
   * @param replicas numbers of the replicas, by service
   * @param removing the node is to remove the deployment; true with its volumes
   */
  public record Assignment(
      long revision, Map<String, List<Integer>> replicas, Optional<Boolean> removing) {
    public Assignment {
      replicas = Map.copyOf(replicas);
    }

    public List<Integer> numbers(String service) {
      return replicas.getOrDefault(service, List.of());
    }

    String json() {
      return JsonText.print(RecordJson.write(this));
    }

    static Assignment parse(String json) {
      return RecordJson.read(JsonText.parse(json), Assignment.class);
    }
  }

  /**
   * What a node says about its assignment; ends with the lease of the node.
   *
   * @param revision that it has applied
   * @param refused why it cannot run it at all
   */
  public record Report(
      long revision, Map<String, ServiceReport> services, Optional<String> refused) {
    public Report {
      services = Map.copyOf(services);
    }

    public static Report refused(long revision, String reason) {
      return new Report(revision, Map.of(), Optional.of(reason));
    }

    /** Where it does not know its members, they are those that an earlier agent reported. */
    Report after(Optional<Report> earlier) {
      var known = new HashMap<>(services);
      known.replaceAll(
          (name, report) ->
              new ServiceReport(
                  report.state(),
                  report.ready(),
                  report.failed(),
                  report.error(),
                  report
                      .members()
                      .or(
                          () ->
                              earlier
                                  .flatMap(one -> one.service(name))
                                  .flatMap(ServiceReport::members))));
      return new Report(revision, known, refused);
    }

    public Optional<ServiceReport> service(String name) {
      return Optional.ofNullable(services.get(name));
    }

    String json() {
      return JsonText.print(RecordJson.write(this));
    }

    static Report parse(String json) {
      return RecordJson.read(JsonText.parse(json), Report.class);
    }
  }

  /**
   * A service on one node.
   *
   * @param ready numbers of the replicas that serve in the applied revision
   * @param failed it does not get any further by itself
   * @param members all replicas that take connections, in whatever revision; absent while the node
   *     does not know, because its agent has just been started
   */
  public record ServiceReport(
      String state,
      List<Integer> ready,
      boolean failed,
      Optional<String> error,
      Optional<List<Member>> members) {
    public ServiceReport {
      ready = List.copyOf(ready);
    }

    ServiceReport(String state, List<Integer> ready, boolean failed, Optional<String> error) {
      this(state, ready, failed, error, Optional.empty());
    }
  }

  /**
   * A replica that other nodes can connect to.
   *
   * @param generation which container of the replica it is
   */
  public record Member(String role, int replica, long generation, String address) {}

  String json() {
    return JsonText.print(RecordJson.write(this));
  }

  static Desired parse(String json) {
    return RecordJson.read(JsonText.parse(json), Desired.class);
  }

  /** The next revision; numbers that somebody chose stay, stopped services stay stopped. */
  Desired revised(Instant now) {
    return new Desired(name, revision + 1, created, now, scale, stopped, removing);
  }

  Desired with(Map<String, Integer> scale, List<String> stopped) {
    return new Desired(name, revision, created, updated, scale, stopped, removing);
  }

  Desired removing(boolean volumes, Instant now) {
    return new Desired(
        name,
        revision,
        created,
        now,
        scale,
        stopped,
        Optional.of(volumes || removing.orElse(false)));
  }
}
