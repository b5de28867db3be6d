package dev.zlayer.cli.command.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whatever ends a job, who waits for it on the command line learns it by the exit code. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class JobEndsIT {
  private static final String FILE =
      """
      version: v1
      deployment: ends
      services:
        code: &job
          rtype: job
          image: {name: "bb:1"}
          network_mode: none
          stop_grace_period: 1s
          command: [sh, -c, "echo begun; exit 42"]
        late: {<<: *job, command: [sh, -c, "echo begun; sleep 1000"]}
        killed: {<<: *job, command: [sh, -c, "echo begun; sleep 1000"]}
        cancelled: {<<: *job, command: [sh, -c, "trap 'exit 5' TERM; echo begun; while :; do sleep 0.1; done"]}
        again:
          <<: *job
          command: [sh, -c, "echo >>/tries/file; tries=$(cat /tries/file | wc -l); echo try $tries; [ $tries = 3 ]"]
          storage: [{type: named, name: tries, target: /tries}]
          job: {retries: 2}
        unprepared:
          <<: *job
          init: {steps: [{id: door, uses: init.wait_tcp, with: {host: 127.0.0.1, port: 1}}]}
      """;

  @TempDir static Path directory;
  private static DaemonFixture daemon;
  private static CliFixture cli;

  @BeforeAll
  static void deploy() throws Exception {
    daemon = DaemonFixture.start(directory).withBusybox("bb:1");
    cli = daemon.cli();
    Files.writeString(directory.resolve("ends.zlayer.yml"), FILE);
    daemon.ok("up", "--quiet");
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  /** Somebody who disturbs a running execution. */
  @FunctionalInterface
  private interface Somebody {
    void act(String id) throws Exception;
  }

  /** Waits for a job on one command line, while somebody else does something to it. */
  private static CliFixture.Result waitWhile(String job, Somebody somebody) throws Exception {
    try (var scope = new TaskScope("waiting")) {
      var waiting = scope.fork(() -> cli.run("job", "run", "--wait", "ends/" + job));
      Awaitility.await()
          .atMost(Duration.ofSeconds(40))
          .until(() -> cli.run("job", "logs", "ends/" + job).out().contains("begun"));
      Json execution = daemon.json("job", "status", "--json", "ends/" + job);
      somebody.act(execution.at("id").string().orElseThrow());
      scope.join();
      return waiting.result();
    }
  }

  @Test
  void itsOwnCode() {
    CliFixture.Result own = cli.run("job", "run", "--wait", "ends/code");
    assertThat(own.code()).as(own.err()).isEqualTo(42);
    assertThat(own.out()).isEqualTo("begun\n");
    assertThat(own.err()).contains("failed with exit code 42\n").doesNotContain(": exit code 42");
    assertThat(daemon.json("job", "status", "--json", "ends/code").at("took").string().orElse(""))
        .as("ISO 8601")
        .matches("PT[0-9.]+S");
    String name = daemon.json("job", "status", "--json", "ends/code").at("name").string().get();
    assertThat(daemon.ok("events")).contains("job.failed " + name + " ");
  }

  /** One stream has the output of each of them, in order, and then the end. */
  @Test
  void theOutputOfEveryAttempt() {
    CliFixture.Result again = cli.run("job", "run", "--wait", "ends/again");
    assertThat(again.code()).as(again.err()).isZero();
    assertThat(again.out()).isEqualTo("try 1\ntry 2\ntry 3\n");
    assertThat(again.err()).contains("completed");
  }

  @Test
  void theDeadlineKills() {
    int seconds = 2;
    CliFixture.Result late = runLate(seconds);
    while (late.out().isEmpty()) { // on a busy machine it may pass before anything runs
      assertThat(late.code()).as(late.err()).isEqualTo(3);
      assertThat(seconds).as("seconds for a container to start").isLessThan(30);
      seconds *= 2;
      late = runLate(seconds);
    }
    assertThat(late.code()).as(late.err()).isEqualTo(137);
    assertThat(late.out()).isEqualTo("begun\n");
    assertThat(late.err()).contains("its deadline of %ds passed".formatted(seconds));
  }

  private static CliFixture.Result runLate(int seconds) {
    return cli.run("job", "run", "--wait", "--deadline", seconds + "s", "ends/late");
  }

  @Test
  void theDeadlinePassesBeforeItRuns() {
    CliFixture.Result never =
        cli.run("job", "run", "--wait", "--deadline", "1s", "ends/unprepared");
    assertThat(never.code()).as(never.err()).isEqualTo(3);
    assertThat(never.out()).isEmpty();
    assertThat(never.err()).contains("its deadline of 1s passed");
  }

  @Test
  void aSignalFromSomebodyElse() throws Exception {
    CliFixture.Result killed =
        waitWhile(
            "killed",
            id -> {
              List<String> containers =
                  daemon
                      .ok("ps", "--quiet")
                      .lines()
                      .filter(line -> line.contains("killed"))
                      .toList();
              assertThat(containers).hasSize(1);
              daemon.ok("kill", containers.getFirst());
            });
    assertThat(killed.code()).as(killed.err()).isEqualTo(137);
    assertThat(killed.out()).isEqualTo("begun\n");
    Json status = daemon.json("job", "status", "--json", "ends/killed");
    assertThat(status.at("signal").string().orElse("")).contains("KILL");
  }

  @Test
  void cancelledBySomebodyElse() throws Exception {
    var clock = new AtomicReference<>(Deadline.none());
    CliFixture.Result cancelled =
        waitWhile(
            "cancelled",
            id -> {
              daemon.ok("job", "cancel", id);
              clock.set(Deadline.after(Duration.ofSeconds(25)));
            });
    assertThat(clock.get().passed()).as("whoever waits hears of it at once").isFalse();
    assertThat(cancelled.code())
        .as("although its process ended with 5: " + cancelled.err())
        .isEqualTo(130);
    assertThat(cancelled.out()).isEqualTo("begun\n");
    assertThat(cancelled.err()).contains("ends/cancelled: cancelled");
  }

  @Test
  void executionsHaveNamesWithoutGenerations() {
    assertThat(cli.run("job", "run", "--wait", "ends/code").code()).isEqualTo(42);
    String name = daemon.json("job", "status", "--json", "ends/code").at("name").string().get();
    assertThat(name).matches("ends/code/\\d+");
    assertThat(daemon.ok("job", "history", "ends/code")).contains(name).doesNotContain("@");
    assertThat(daemon.ok("job", "status", name)).contains(name).doesNotContain("@");
    assertThat(daemon.ok("job", "logs", name)).isEqualTo("begun\n");
    assertThat(cli.run("job", "retry", name).err() + cli.run("job", "ls").out())
        .doesNotContain("@");
    CliFixture.Result unknown = cli.run("job", "status", "ends/code/999999");
    assertThat(unknown.code()).isNotZero();
    assertThat(unknown.err()).contains("ends/code/999999").contains("job history");
  }
}
