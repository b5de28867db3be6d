package dev.zlayer.cli.command.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.zlayer.cli.ClusterFixture;
import dev.zlayer.cli.ClusterFixture.Machine;
import dev.zlayer.json.Json;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Jobs and schedules of three machines that are a cluster, named one, two and three. */
final class ClusterBatch {
  static final String FILE =
      """
      version: v1
      deployment: batch
      services:
        report:
          rtype: job
          image: {name: "bb:1", pull_policy: never}
          command: [sh, -c, "echo report for $DAY; sleep $PAUSE"]
          env: {DAY: none, PAUSE: "0"}
          job: {retries: 1}
        there:
          rtype: job
          image: {name: "bb:1", pull_policy: never}
          command: [echo, there]
          affinity: {pin: id=two}
        tick:
          rtype: cron
          schedule: "@every 1s"
          image: {name: "bb:1", pull_policy: never}
          command: [echo, tick]
          cron: {overlap: allow}
      """;

  private static final Duration LIMIT = Duration.ofSeconds(90);

  private final ClusterFixture machines;
  private final Machine one;
  private final Machine two;
  private final Machine three;

  ClusterBatch(ClusterFixture machines) {
    this.machines = machines;
    this.one = machines.machine(1);
    this.two = machines.machine(2);
    this.three = machines.machine(3);
  }

  void runsOnANodeAndIsReadOnAll(String file) {
    two.agent().ok("up", file, "--wait", "90s");
    String output =
        three.agent().ok("job", "run", "--wait", "--quiet", "-e", "DAY=monday", "batch/report");
    assertThat(output).isEqualTo("report for monday\n");
    for (Machine machine : List.of(one, two, three)) {
      assertThat(machine.agent().ok("job", "logs", "batch/report/1")).isEqualTo(output);
      Json ended = execution(machine, "batch/report", 1);
      assertThat(ended.at("status").string()).contains("completed");
      assertThat(ended.at("node").string()).isPresent();
      assertThat(machine.agent().json("job", "ls", "--json").items()).hasSize(3);
      assertThat(machine.agent().ok("job", "history")).contains("NODE", "batch/report/1");
      assertThat(machine.agent().ok("job", "run", "--wait", "--quiet", "batch/there"))
          .as("on the node that is asked, and on another one")
          .isEqualTo("there\n");
    }

    await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(history(one, "batch/tick")).hasSizeGreaterThan(2));
    three.agent().ok("cron", "disable", "batch/tick");
    assertThat(history(two, "batch/tick").stream().map(run -> run.at("due").string()))
        .as("one start per time")
        .doesNotHaveDuplicates();
  }

  void runsOnAnotherNodeWhenItsOwnIsLost() {
    one.agent().ok("job", "run", "-e", "PAUSE=1000", "batch/report");
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(execution(one, "batch/report", 2).at("status").string())
                    .contains("running"));
    String lost = execution(one, "batch/report", 2).at("node").string().orElseThrow();
    int number = List.of("one", "two", "three").indexOf(lost) + 1;
    Machine other = number == 1 ? two : one;
    machines.cable(number, false);
    try {
      await()
          .atMost(LIMIT)
          .untilAsserted(
              () -> {
                Json again = execution(other, "batch/report", 2);
                assertThat(again.at("status").string()).contains("running");
                assertThat(again.at("node").string()).isPresent().isNotEqualTo(Optional.of(lost));
              });
    } finally {
      machines.cable(number, true);
    }
    other.agent().ok("job", "cancel", "batch/report/2");
    assertThat(other.agent().cli().run("job", "run", "batch/none").err()).contains("batch/none");
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(
                        execution(machines.machine(number), "batch/report", 2)
                            .at("status")
                            .string())
                    .contains("cancelled"));
    other.agent().ok("down", "batch", "--wait", "60s");
  }

  private static List<Json> history(Machine machine, String job) {
    return machine.agent().json("job", "history", job, "--json").items();
  }

  private static Json execution(Machine machine, String job, int number) {
    return history(machine, job).stream()
        .filter(run -> run.at("name").string().equals(Optional.of(job + "/" + number)))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no execution " + number));
  }
}
