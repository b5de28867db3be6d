package dev.zlayer.testkit.cluster;

import java.nio.file.Path;

/** The deployments of a fault run. Their containers write into one directory of the machine. */
final class FaultFiles {
  /** Writes when it begins, every second, and when it is asked to end. */
  private static final String LIFE =
      "u=$(cat /proc/sys/kernel/random/uuid);"
          + " m() { read t _ </proc/uptime; echo \"$NAME $u $1 $t\" >>/shared/marks; };"
          + " trap 'm STOP; exit 0' TERM; m START;"
          + " while :; do sleep 1 & wait $!; m ALIVE; done";

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

  /** A job that is not tried again, and a schedule. */
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
    """
        .formatted(
            TestCluster.IMAGE,
            quoted(
                "read t _ </proc/uptime; echo \"$KEY $t\" >>/shared/starts; sleep $PAUSE;"
                    + " echo \"result of $KEY\"; exit $CODE"),
            quoted("read t _ </proc/uptime; echo $t >>/shared/ticks"),
            shared);
  }

  /** Between single quotes, as YAML has it. */
  private static String quoted(String text) {
    return "'" + text.replace("'", "''") + "'";
  }
}
