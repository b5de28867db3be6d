package dev.zlayer.cluster.deploy;

import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;

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
  private static final int LONGEST_REASON = 4000;

  public Desired {
    scale = Map.copyOf(scale);
    stopped = List.copyOf(stopped);
  }

  /** What a node says has to fit into one change of the store, whatever a program printed. */
  static String shown(String text) {
    return text.length() <= LONGEST_REASON ? text : text.substring(0, LONGEST_REASON) + "...";
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
   * @param replicas numbers of the replicas, by service, or by {@link #group} of its roles
   * @param removing the node is to remove the deployment; true with its volumes
   * @param settings of replicas that have any, by the same and by number
   */
  public record Assignment(
      long revision,
      Map<String, List<Integer>> replicas,
      Optional<Boolean> removing,
      Map<String, Map<String, Settings>> settings) {
    public Assignment {
      replicas = Map.copyOf(replicas);
      settings = Map.copyOf(settings);
    }

    Assignment(long revision, Map<String, List<Integer>> replicas, Optional<Boolean> removing) {
      this(revision, replicas, removing, Map.of());
    }

    public List<Integer> numbers(String group) {
      return replicas.getOrDefault(group, List.of());
    }

    /** The groups of a service that have replicas. */
    public List<String> groups(String service) {
      return replicas.keySet().stream()
          .filter(group -> group.equals(service) || group.startsWith(service + "/"))
          .toList();
    }

    /** How many replicas of a service. */
    public int count(String service) {
      return groups(service).stream().mapToInt(group -> numbers(group).size()).sum();
    }

    Optional<Settings> settings(String group, int number) {
      return Optional.ofNullable(
          settings.getOrDefault(group, Map.of()).get(Integer.toString(number)));
    }

    /** Differs when replicas get something else. */
    public String mark() {
      return settings.isEmpty() ? "" : Integer.toHexString(text().hashCode());
    }

    private String text() {
      var sorted = new TreeMap<String, String>();
      settings.forEach(
          (group, own) ->
              own.forEach(
                  (number, one) ->
                      sorted.put(
                          group + "/" + number,
                          one.gpus() + " " + new TreeMap<>(one.variables()))));
      return sorted.toString();
    }

    String json() {
      return JsonText.print(RecordJson.write(this));
    }

    static Assignment parse(String json) {
      return RecordJson.read(JsonText.parse(json), Assignment.class);
    }
  }

  /** Replicas of a service that are numbered together, those of one role. */
  public static String group(String service, String role) {
    return service + "/" + role;
  }

  /**
   * What the scheduler has decided for one replica beside its node.
   *
   * @param revision of the workload that it was decided for
   * @param gpus names of the devices that it gets
   * @param variables over those of the file
   */
  public record Settings(String revision, List<String> gpus, Map<String, String> variables) {
    public Settings {
      gpus = List.copyOf(gpus);
      variables = Map.copyOf(variables);
    }
  }

  /**
   * What a node says about its assignment; ends with the lease of the node.
   *
   * @param revision that it has applied
   * @param refused why it cannot run it at all
   * @param roles numbers of the ready replicas of services with roles, by {@link #group}
   * @param settings the mark of the settings that it has applied; empty when there are none
   */
  public record Report(
      long revision,
      Map<String, ServiceReport> services,
      Optional<String> refused,
      Map<String, List<Integer>> roles,
      Optional<String> settings) {
    public Report {
      services = Map.copyOf(services);
      roles = Map.copyOf(roles);
      settings = settings.filter(mark -> !mark.isEmpty());
      refused = refused.map(Desired::shown);
    }

    Report(long revision, Map<String, ServiceReport> services, Optional<String> refused) {
      this(revision, services, refused, Map.of(), Optional.empty());
    }

    /** Whether it is about what the assignment says. */
    boolean about(Assignment assignment) {
      return revision == assignment.revision() && settings.orElse("").equals(assignment.mark());
    }

    /** Why the node cannot run what it was given of a service, if it cannot. */
    Optional<String> refusal(Assignment assignment, String service) {
      return revision != assignment.revision()
          ? Optional.empty()
          : refused.or(
              () ->
                  about(assignment)
                      ? service(service).flatMap(ServiceReport::refused)
                      : Optional.empty());
    }

    /** Numbers of the replicas that serve in the applied revision. */
    List<Integer> ready(String group) {
      return roles.containsKey(group)
          ? roles.getOrDefault(group, List.of())
          : service(group).map(ServiceReport::ready).orElse(List.of());
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
                                  .flatMap(ServiceReport::members)),
                  report.refused(),
                  report.started(),
                  report.load()));
      return new Report(revision, known, refused, roles, settings);
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
   * @param refused why another node has to run it
   * @param started how many of its replicas run, ready or not
   * @param load of its replicas on average, where their number follows it
   */
  public record ServiceReport(
      String state,
      List<Integer> ready,
      boolean failed,
      Optional<String> error,
      Optional<List<Member>> members,
      Optional<String> refused,
      Optional<Integer> started,
      Optional<Load> load) {
    public ServiceReport {
      ready = List.copyOf(ready);
      error = error.map(Desired::shown);
      refused = refused.map(Desired::shown);
    }

    ServiceReport(String state, List<Integer> ready, boolean failed, Optional<String> error) {
      this(state, ready, failed, error, Optional.empty());
    }

    ServiceReport(
        String state,
        List<Integer> ready,
        boolean failed,
        Optional<String> error,
        Optional<List<Member>> members) {
      this(
          state,
          ready,
          failed,
          error,
          members,
          Optional.empty(),
          Optional.empty(),
          Optional.empty());
    }
  }

  /**
   * What replicas use in percent of their limits, in steps, so that it is not written at every
   * reading.
   */
  public record Load(Optional<Integer> cpu, Optional<Integer> memory) {
    private static final double STEP = 5;

    /** The nearest step. */
    public static Load of(OptionalDouble cpu, OptionalDouble memory) {
      return new Load(step(cpu), step(memory));
    }

    private static Optional<Integer> step(OptionalDouble percent) {
      return percent.isPresent()
          ? Optional.of((int) (Math.round(percent.getAsDouble() / STEP) * STEP))
          : Optional.empty();
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

  /** As many replicas of a service as its load asks for; nobody has changed the deployment. */
  Desired scaled(String service, int replicas) {
    var all = new HashMap<>(scale);
    all.put(service, replicas);
    return new Desired(name, revision, created, updated, all, stopped, removing);
  }

  /** The next revision; numbers that somebody chose stay, stopped services stay stopped. */
  Desired revised(Instant now) {
    return new Desired(name, revision + 1, created, now, scale, stopped, removing);
  }

  Desired with(Map<String, Integer> scale, List<String> stopped, Instant now) {
    return new Desired(name, revision, created, now, scale, stopped, removing);
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
