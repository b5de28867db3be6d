package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * An execution of a job of the cluster. While it has not ended it is a key that the leader gives to
 * a node, and that this node alone brings up to date; its end is kept as a result.
 *
 * @param number counts the executions of its job in the cluster
 * @param after it waits until all earlier executions of its job have ended
 * @param node that runs it, or ran it last
 * @param lost nodes that were lost while they had it
 * @param cancelled somebody has ended it
 * @param progress as its node reported it last
 * @param gpus names of the devices that it gets there
 * @param refused why nodes could not run it, by their ids
 * @param needs executions of the same deployment that have to complete before
 */
public record ClusterExecution(
    String id,
    String deployment,
    String job,
    long number,
    Request request,
    Instant created,
    boolean after,
    Optional<String> node,
    List<String> lost,
    boolean cancelled,
    Optional<Progress> progress,
    List<String> gpus,
    Map<String, String> refused,
    List<Need> needs) {
  public static final String COMPLETED = "completed";
  public static final String FAILED = "failed";
  public static final String CANCELLED = "cancelled";
  public static final String LOST = "lost";

  /** The trigger of an execution that others wait for. */
  public static final String INTERNAL = "internal";

  /** As many results of a job are kept in the store; nodes keep theirs as the file says. */
  static final int KEPT = 50;

  /** Of each node that refused it. */
  private static final int LONGEST_REFUSAL = 400;

  private static final String DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
  private static final int TIME_DIGITS = 10;
  private static final int RANDOM_DIGITS = 16;

  public ClusterExecution {
    lost = List.copyOf(lost);
    gpus = List.copyOf(gpus);
    refused = Map.copyOf(refused);
    needs = List.copyOf(needs);
  }

  /** An execution that another one waits for. */
  public record Need(String job, long number) {
    String live(String deployment) {
      return StoreKeys.execution(deployment, job, number);
    }

    String result(String deployment) {
      return StoreKeys.result(deployment, job, number);
    }
  }

  /** That was asked for at this moment. */
  static ClusterExecution fresh(
      String deployment,
      String job,
      long number,
      Request request,
      boolean after,
      List<Need> needs,
      Instant now) {
    return new ClusterExecution(
        newId(now, RandomGenerator.getDefault()),
        deployment,
        job,
        number,
        request,
        now,
        after,
        Optional.empty(),
        List.of(),
        false,
        Optional.empty(),
        List.of(),
        Map.of(),
        needs);
  }

  /**
   * What was asked for.
   *
   * @param trigger who asked: cli, endpoint, scheduler, or internal for others that wait
   * @param due the time that the schedule names
   * @param args instead of the job's
   * @param env over the job's
   * @param key with which the same request may come again
   */
  public record Request(
      String trigger,
      Optional<String> remote,
      Optional<Instant> due,
      Optional<List<String>> args,
      Map<String, String> env,
      Optional<Duration> deadline,
      int priority,
      Optional<String> key) {
    public Request {
      args = args.map(List::copyOf);
      env = Map.copyOf(env);
    }

    /** As it is stored. */
    int bytes() {
      return JsonText.bytes(RecordJson.write(this)).length;
    }

    /** For somebody else than a user. */
    static Request internal(int priority) {
      return new Request(
          INTERNAL,
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Map.of(),
          Optional.empty(),
          priority,
          Optional.empty());
    }

    static Request scheduled(Instant due, int priority) {
      return new Request(
          "scheduler",
          Optional.empty(),
          Optional.of(due),
          Optional.empty(),
          Map.of(),
          Optional.empty(),
          priority,
          Optional.empty());
    }

    /** The same once more, for somebody else. */
    public Request again(String trigger, Optional<String> remote) {
      return new Request(
          trigger, remote, Optional.empty(), args, env, deadline, priority, Optional.empty());
    }

    boolean same(Request other) {
      return args.equals(other.args)
          && env.equals(other.env)
          && deadline.equals(other.deadline)
          && priority == other.priority;
    }
  }

  /**
   * Where it stands on its node.
   *
   * @param status the word that nodes use, or {@link #LOST}
   * @param attempts how many it has had there
   * @param refused why another node has to run it
   */
  public record Progress(
      String status,
      Optional<Integer> code,
      Optional<String> reason,
      int attempts,
      Optional<Instant> started,
      Optional<Instant> finished,
      Optional<String> refused) {
    public Progress {
      reason = reason.map(Desired::shown);
      refused = refused.map(Desired::shown);
    }

    public Progress(
        String status,
        Optional<Integer> code,
        Optional<String> reason,
        int attempts,
        Optional<Instant> started,
        Optional<Instant> finished) {
      this(status, code, reason, attempts, started, finished, Optional.empty());
    }

    /** For people. */
    String text() {
      return code.map(number -> "%s(%d)".formatted(status, number)).orElse(status);
    }
  }

  /** An id that sorts behind earlier ones, as nodes make them. */
  static String newId(Instant now, RandomGenerator random) {
    var text = new StringBuilder();
    long time = now.toEpochMilli();
    for (int i = TIME_DIGITS - 1; i >= 0; i--) {
      text.append(DIGITS.charAt((int) (time >>> (5 * i)) & 31));
    }
    for (int i = 0; i < RANDOM_DIGITS; i++) {
      text.append(DIGITS.charAt(random.nextInt(32)));
    }
    return text.toString();
  }

  /** What people call it. */
  public String name() {
    return workload();
  }

  /** As the scheduler knows it: of three parts, where that of a service has two. */
  String workload() {
    return deployment + "/" + job + "/" + number;
  }

  public boolean of(String deployment, String job) {
    return this.deployment.equals(deployment) && this.job.equals(job);
  }

  public boolean finished() {
    return progress.flatMap(Progress::finished).isPresent();
  }

  String key() {
    return StoreKeys.execution(deployment, job, number);
  }

  String json() {
    return JsonText.print(RecordJson.write(this));
  }

  /** Empty for what another version wrote, or somebody else. */
  static Optional<ClusterExecution> readable(String json) {
    try {
      return Optional.of(parse(json));
    } catch (AgentException _) {
      return Optional.empty();
    }
  }

  static ClusterExecution parse(String json) {
    return RecordJson.read(JsonText.parse(json), ClusterExecution.class);
  }

  ClusterExecution on(ClusterPlan.Slot slot) {
    return new ClusterExecution(
        id,
        deployment,
        job,
        number,
        request,
        created,
        after,
        Optional.of(slot.node()),
        lost,
        cancelled,
        Optional.empty(),
        slot.gpus(),
        refused,
        needs);
  }

  ClusterExecution with(Progress progress) {
    return new ClusterExecution(
        id,
        deployment,
        job,
        number,
        request,
        created,
        after,
        node,
        lost,
        cancelled,
        Optional.of(progress),
        gpus,
        refused,
        needs);
  }

  ClusterExecution cancelling() {
    return new ClusterExecution(
        id,
        deployment,
        job,
        number,
        request,
        created,
        after,
        node,
        lost,
        true,
        progress,
        gpus,
        refused,
        needs);
  }

  /** Its node is lost: it may be tried on another one. */
  ClusterExecution again() {
    var nodes = new ArrayList<>(lost);
    node.ifPresent(nodes::add);
    return waiting(nodes, refused);
  }

  /** Its node cannot run it, and another one may. */
  ClusterExecution refused(String reason) {
    var reasons = new HashMap<>(refused);
    String shown = reason.substring(0, Math.min(reason.length(), LONGEST_REFUSAL));
    node.ifPresent(id -> reasons.put(id, shown));
    return waiting(lost, reasons);
  }

  private ClusterExecution waiting(List<String> lost, Map<String, String> refused) {
    return new ClusterExecution(
        id,
        deployment,
        job,
        number,
        request,
        created,
        after,
        Optional.empty(),
        lost,
        cancelled,
        Optional.empty(),
        List.of(),
        refused,
        needs);
  }

  /** It ended without its node saying so. */
  ClusterExecution ended(String status, Optional<String> reason, Instant now) {
    return with(
        new Progress(
            status,
            Optional.empty(),
            reason,
            progress.map(Progress::attempts).orElse(0),
            progress.flatMap(Progress::started),
            Optional.of(now)));
  }

  /** How it is written: an end takes the place of an older result. */
  List<Change> changes() {
    if (!finished()) {
      return List.of(new Change.Put(key(), json()));
    }
    return List.of(
        new Change.Delete(key()),
        new Change.Put(StoreKeys.result(deployment, job, number), json()),
        new Change.Delete(StoreKeys.result(deployment, job, number - KEPT)));
  }
}
