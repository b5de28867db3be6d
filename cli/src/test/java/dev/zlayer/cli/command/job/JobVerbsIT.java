package dev.zlayer.cli.command.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Queue, files, needs and schedules of jobs as a person handles them, with a real daemon. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class JobVerbsIT {
  private static final String FILE =
      """
      version: v1
      deployment: work
      services:
        single:
          rtype: job
          image: {name: "bb:1"}
          network_mode: none
          stop_signal: SIGKILL
          command: [sh, -c, "echo begun; sleep ${PAUSE:-0}"]
          job: {concurrency: 1}
        files:
          rtype: job
          image: {name: "bb:1"}
          network_mode: none
          command: [sh, -c, "mkdir -p /out; echo kept > /out/a.txt"]
          init: {steps: [{id: warm-up, uses: init.run, with: {command: "true"}}]}
          job: {artifacts: [/out, /none]}
        base:
          rtype: job
          image: {name: "bb:1"}
          network_mode: none
          command: [sh, -c, "exit ${CODE:-0}"]
        broken:
          rtype: job
          image: {name: "bb:1"}
          network_mode: none
          command: [sh, -c, "exit 9"]
        top:
          rtype: job
          image: {name: "bb:1"}
          network_mode: none
          command: [echo, all there]
          job: {needs: [base]}
        hopeless:
          rtype: job
          image: {name: "bb:1"}
          network_mode: none
          command: [echo, never]
          job: {needs: [base, broken]}
        often:
          rtype: cron
          schedule: "@every 1s"
          image: {name: "bb:1"}
          network_mode: none
          stop_signal: SIGKILL
          command: [sleep, "1000"]
          cron: {overlap: forbid}
      """;

  @TempDir static Path directory;
  private static DaemonFixture daemon;
  private static CliFixture cli;

  @BeforeAll
  static void deploy() throws Exception {
    daemon = DaemonFixture.start(directory).withBusybox("bb:1");
    cli = daemon.cli();
    Files.writeString(directory.resolve("work.zlayer.yml"), FILE);
    ok("up", "--quiet");
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  private static String ok(String... arguments) {
    return daemon.ok(arguments);
  }

  private static ConditionFactory soon() {
    return Awaitility.await().atMost(Duration.ofSeconds(40));
  }

  private static Instant started(String id) {
    return Instant.parse(
        daemon.json("job", "status", "--json", id).at("started").string().orElseThrow());
  }

  @Test
  void aHigherPriorityIsNext() {
    String first = ok("job", "run", "-e", "PAUSE=1000", "work/single").strip();
    soon().until(() -> ok("job", "logs", first).contains("begun"));
    String later = ok("job", "run", "work/single").strip();
    String urgent = ok("job", "run", "--priority", "7", "work/single").strip();

    String[] queue = ok("job", "queue").lines().toArray(String[]::new);
    assertThat(queue[0]).contains("POSITION").contains("PRIORITY");
    assertThat(queue[1]).contains(urgent).contains("work/single").contains(" 7 ").contains("cli");
    assertThat(queue[2]).contains(later).contains(" 0 ");
    assertThat(queue).hasSize(3);

    ok("job", "cancel", first);
    soon().until(() -> ok("job", "status", later).contains("completed (0)"));
    assertThat(started(urgent)).isBefore(started(later));
    assertThat(ok("job", "status", urgent))
        .containsPattern("priority +7")
        .containsPattern("trigger +cli");
    assertThat(ok("job", "queue").lines()).hasSize(1);

    CliFixture.Result late = cli.run("job", "cancel", urgent);
    assertThat(late.err()).contains(urgent + " has already ended: completed with exit code 0");
    CliFixture.Result unknown = cli.run("job", "cancel", "no-such-execution");
    assertThat(unknown.code()).isEqualTo(2);
    assertThat(unknown.err()).contains("no-such-execution");
    CliFixture.Result beyond = cli.run("job", "run", "--priority", "5000", "work/single");
    assertThat(beyond.code()).isEqualTo(2);
    assertThat(beyond.err()).contains("priority").contains("1000");
  }

  @Test
  void filesThatAJobLeftAreFetched() throws Exception {
    ok("job", "run", "--wait", "--quiet", "work/files");

    assertThat(ok("job", "artifacts", "work/files")).contains("/out").doesNotContain("/none");
    ok("job", "artifacts", "-o", "out.tar", "work/files", "/out");
    String tar = Files.readString(directory.resolve("out.tar"), StandardCharsets.ISO_8859_1);
    assertThat(tar).contains("a.txt").contains("kept\n");
    assertThat(ok("job", "artifacts", "work/files", "/out")).contains("kept\n");
    CliFixture.Result absent = cli.run("job", "artifacts", "-o", "no.tar", "work/files", "/none");
    assertThat(absent.code()).isEqualTo(2);
    assertThat(directory.resolve("no.tar")).doesNotExist();
    assertThat(ok("job", "status", "work/files"))
        .containsPattern("step warm-up +succeeded in ")
        .containsPattern("artifact +/out")
        .containsPattern("not kept +/none: ");
  }

  @Test
  void whatAJobNeedsRunsFirst() {
    CliFixture.Result top = cli.run("job", "run", "--wait", "work/top");
    assertThat(top.code()).as(top.err()).isZero();
    assertThat(top.out()).isEqualTo("all there\n");
    assertThat(ok("job", "status", "work/base"))
        .contains("completed (0)")
        .containsPattern("trigger +internal, needed by work/top");

    CliFixture.Result hopeless = cli.run("job", "run", "--wait", "work/hopeless");
    assertThat(hopeless.code()).isEqualTo(3);
    assertThat(hopeless.out()).isEmpty();
    assertThat(hopeless.err()).contains("work/broken");
    assertThat(ok("job", "status", "work/broken")).contains("failed (9)");
  }

  @Test
  void executionsAreListedByEachStatusThatTheHelpNames() {
    String help = ok("job", "history", "--help").replaceAll("\\s+", " ");
    for (String status :
        List.of(
            "pending",
            "initializing",
            "running",
            "uploading",
            "completed",
            "failed",
            "cancelled",
            "lost")) {
      assertThat(help).contains(status);
      assertThat(daemon.json("job", "history", "--json", "--status", status).items())
          .allMatch(run -> run.at("status").string().equals(Optional.of(status)));
    }
  }

  @Test
  void aSkippedOccurrenceSaysWhy() {
    soon().until(() -> ok("cron", "ls").contains("skipped: "));
    ok("cron", "disable", "work/often");
    Json schedule = daemon.json("cron", "ls", "--json").items().getFirst();
    assertThat(schedule.at("skips").integer().orElse(0L)).isPositive();
    assertThat(schedule.at("enabled").bool()).contains(false);
    assertThat(schedule.at("last_skip").at("reason").string()).isPresent();

    assertThat(daemon.json("job", "history", "--json", "work/often").items())
        .as("one runs, so no other was begun")
        .hasSize(1)
        .allMatch(run -> run.at("trigger").string().orElse("").equals("scheduler"));
    ok(
        "job",
        "cancel",
        daemon.json("job", "status", "--json", "work/often").at("id").string().get());
  }
}
