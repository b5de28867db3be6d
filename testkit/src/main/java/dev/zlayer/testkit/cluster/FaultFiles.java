package dev.zlayer.testkit.cluster;

import java.nio.file.Path;
import java.util.Optional;

/** The deployments of a fault run. Their containers write into one directory of the machine. */
final class FaultFiles {
  /** The service of which one container runs at most. */
  static final String ALONE = "alone";

  /** The schedule of which one run exists at most. */
  static final String TURNS = "turns";

  /** Writes when it begins, every second, and when it is asked to end. */
  private static final String LIFE =
      "u=$(cat /proc/sys/kernel/random/uuid);"
          + " m() { read t _ </proc/uptime; echo \"$NAME $u $1 $t\" >>/shared/marks; };"
          + " trap 'm STOP; exit 0' TERM; m START;"
          + " while :; do sleep 1 & wait $!; m ALIVE; done";

  /** The same five times a second, for what must never run twice. */
  private static final String OFTEN = LIFE.replace("sleep 1", "sleep 0.2");

  /** Of the same, for some seconds. */
  private static final String TURN =
      OFTEN.replace("while :; do", "for i in 1 2 3 4 5 6 7 8 9 10; do") + "; m STOP";

  private FaultFiles() {}

  /** One replica for each node, which no operation touches. */
  static String steady(Path shared, int replicas) {
    return service("steady", "keep", replicas, 0, shared);
  }

  static String busy(Path shared, int step) {
    return service("busy", "web", 2, step, shared);
  }

  static String brief(Path shared) {
    return service("brief", "short", 1, 0, shared);
  }

  /**
   * A single instance.
   *
   * @param node that alone may run it; any when absent
   */
  static String solo(Path shared, int step, Optional<String> node) {
    return """
    version: v1
    deployment: solo
    services:
      %1$s:
        image: {name: "%2$s", pull_policy: never}
        command: [sh, -c, %3$s]
        env: {NAME: %1$s, STEP: "%4$d"}
        single_instance: true
        %5$s
        update: {min_healthy_time: 0s}
        storage:
          - {type: bind, source: %6$s, target: /shared}
    """
        .formatted(
            ALONE,
            TestCluster.IMAGE,
            quoted(OFTEN),
            step,
            node.map(name -> "affinity: {pin: id=" + name + "}").orElse(""),
            shared);
  }

  /** What claims to be the single instance, and is another deployment of one node. */
  static String second(Path shared) {
    return """
    version: v1
    deployment: second
    services:
      second:
        image: {name: "%s", pull_policy: never}
        command: [sh, -c, %s]
        env: {NAME: %s}
        storage:
          - {type: bind, source: %s, target: /shared}
    """
        .formatted(TestCluster.IMAGE, quoted(OFTEN), ALONE, shared);
  }

  private static String service(
      String deployment, String name, int replicas, int step, Path shared) {
    return """
    version: v1
    deployment: %s
    services:
      %s:
        image: {name: "%s", pull_policy: never}
        command: [sh, -c, %s]
        env: {NAME: %s, STEP: "%d"}
        scale: {mode: manual, replicas: %d}
        update: {min_healthy_time: 0s}
        storage:
          - {type: bind, source: %s, target: /shared}
    """
        .formatted(deployment, name, TestCluster.IMAGE, quoted(LIFE), name, step, replicas, shared);
  }

  /** A job that is not tried again, a schedule, and one whose runs never overlap. */
  static String batch(Path shared) {
    return """
    version: v1
    deployment: batch
    services:
      once:
        rtype: job
        image: {name: "%1$s", pull_policy: never}
        command: [sh, -c, %2$s]
        env: {KEY: none, PAUSE: "0", CODE: "0"}
        job: {retries: 0, concurrency: 8, queue: 1000}
        storage:
          - {type: bind, source: %4$s, target: /shared}
      tick:
        rtype: cron
        schedule: "@every 3s"
        image: {name: "%1$s", pull_policy: never}
        command: [sh, -c, %3$s]
        job: {retries: 0}
        cron: {overlap: allow}
        storage:
          - {type: bind, source: %4$s, target: /shared}
      %5$s:
        rtype: cron
        schedule: "@every 1s"
        image: {name: "%1$s", pull_policy: never}
        command: [sh, -c, %6$s]
        env: {NAME: %5$s}
        job: {retries: 0}
        cron: {overlap: forbid}
        storage:
          - {type: bind, source: %4$s, target: /shared}
    """
        .formatted(
            TestCluster.IMAGE,
            quoted(
                "read t _ </proc/uptime; echo \"$KEY $t\" >>/shared/starts; sleep $PAUSE;"
                    + " echo \"result of $KEY\"; exit $CODE"),
            quoted("read t _ </proc/uptime; echo $t >>/shared/ticks"),
            shared,
            TURNS,
            quoted(TURN));
  }

  /** Between single quotes, as YAML has it. */
  private static String quoted(String text) {
    return "'" + text.replace("'", "''") + "'";
  }
}
