package dev.zlayer.cli.command.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Deployments, jobs and schedules as a person handles them, with a real daemon. */
@Timeout(240)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DeploymentVerbsIT {
  private static final String FILE =
      """
      version: v1
      deployment: demo
      services:
        web:
          image: {name: "bb:1"}
          command: [sh, -c, "echo serving; exec sleep 1000"]
          stop_grace_period: 1s
          stop_signal: SIGKILL
          scale: {mode: manual, replicas: 2}
        report:
          rtype: job
          image: {name: "bb:1"}
          command: [sh, -c, "echo first; sleep ${PAUSE:-0}; echo second >&2; exit ${CODE:-0}"]
        tick:
          rtype: cron
          schedule: "0 0 1 1 *"
          image: {name: "bb:1"}
          command: [echo, tick]
      """;

  @TempDir static Path directory;
  private static DaemonFixture daemon;
  private static CliFixture cli;

  @BeforeAll
  static void startADaemon() {
    daemon = DaemonFixture.start(directory).withBusybox("bb:1");
    cli = daemon.cli();
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  @AfterEach
  void takeDown() {
    cli.run("down", "demo", "--volumes");
  }

  private static String ok(String... arguments) {
    return daemon.ok(arguments);
  }

  private static void write(String content) throws IOException {
    Files.writeString(directory.resolve("demo.zlayer.yml"), content);
  }

  @Test
  void aDeploymentLivesThroughAllVerbs() throws Exception {
    write(FILE);
    assertThat(ok("diff")).contains("+ web").contains("+ report");

    CliFixture.Result up = cli.run("up");
    assertThat(up.code()).as(up.err()).isZero();
    assertThat(up.err()).contains("2 of 2 ready").contains("'demo' is ready");
    assertThat(ok("diff")).contains("nothing would change");
    assertThat(cli.run("diff", "--exit-code").code()).isZero();
    assertThat(ok("ps", "demo/web").lines()).hasSize(3);
    assertThat(ok("status")).contains("demo").contains("running");
    assertThat(ok("status", "demo")).contains("web").contains("2/2").contains("report");
    assertThat(ok("logs", "demo/web")).contains("demo/web/1").contains("| serving");
    assertThat(ok("exec", "demo/web/1", "echo", "inside")).isEqualTo("inside\n");

    assertThat(ok("scale", "demo/web=1")).contains("1 replicas desired");
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("ps", "--quiet", "demo/web").lines().count() == 1);
    ok("stop", "demo/web");
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("ps", "--quiet", "demo/web").isEmpty());
    ok("start", "demo/web");

    write(FILE.replace("echo serving", "echo changed"));
    assertThat(ok("diff")).contains("~ web").contains("command");
    ok("up", "--quiet");
    assertThat(daemon.json("revisions", "demo", "--json").items()).hasSize(2);
    ok("rollback", "demo", "1");
    assertThat(ok("revisions", "demo")).contains("rollback");

    assertThat(cli.run("down", "demo").err())
        .contains("'demo' is removed")
        .doesNotContain("0 of 0 ready", "removal_delayed");
    CliFixture.Result gone = cli.run("status", "demo");
    assertThat(gone.code()).isEqualTo(2);
    assertThat(gone.err()).contains("'demo' not found");
  }

  @Test
  void aServiceThatFailsIsToldWithItsLastOutput() throws Exception {
    write(FILE.replace("echo serving; exec sleep 1000", "echo no luck; exit 9"));

    CliFixture.Result up = cli.run("up", "--wait", "20s");

    assertThat(up.code()).isIn(3, 4);
    assertThat(up.err()).contains("web").contains("no luck");
  }

  @Test
  void wrongUsesAreToldBeforeAnybodyIsAsked() throws Exception {
    CliFixture.Result absent = cli.run("up", "none.zlayer.yml");
    assertThat(absent.code()).isEqualTo(2);
    assertThat(absent.err()).contains("'none.zlayer.yml'").contains("no such file");

    write(FILE.replace("scale:", "scal:"));
    CliFixture.Result bad = cli.run("up");
    assertThat(bad.code()).isEqualTo(2);
    assertThat(bad.err())
        .contains("demo.zlayer.yml:9:5")
        .contains("did you mean 'scale'?")
        .contains("nothing was changed");

    write("services: [");
    assertThat(cli.run("up").code()).isEqualTo(2);
    assertThat(cli.run("scale", "demo/none=2").code()).isEqualTo(2);
    assertThat(cli.run("scale", "demo=2").err()).contains("shop/api=3");
    assertThat(cli.run("job", "run", "demo").err()).contains("job 'demo' not found");
    assertThat(cli.run("job", "run", "a/b/c").err()).contains("write deployment/job");
    assertThat(cli.run("job", "run", "demo/none").code()).isEqualTo(2);
    assertThat(cli.run("down", "none").code()).isEqualTo(2);
  }

  @Test
  void jobsReturnTheirOutputAndCode() throws Exception {
    write(FILE);
    ok("up", "--quiet");

    CliFixture.Result run = cli.run("job", "run", "--wait", "-e", "CODE=5", "demo/report");
    assertThat(run.code()).isEqualTo(5);
    assertThat(run.out()).isEqualTo("first\n");
    assertThat(run.err()).contains("second\n").contains("failed with exit code 5");

    String id = ok("job", "run", "demo/report").strip();
    assertThat(id).matches("demo/report/\\d+");
    assertThat(cli.run("job", "logs", "-f", id).code()).isZero();
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("job", "status", id).contains("completed (0)"));
    assertThat(ok("job", "logs", id)).contains("first");
    assertThat(ok("job", "history", "demo/report"))
        .contains("failed (5)")
        .contains("completed (0)");
    assertThat(ok("job", "ls")).contains("demo/report").contains("completed (0)");

    String failed = ok("job", "run", "-e", "CODE=6", "demo/report").strip();
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("job", "status", failed).contains("failed (6)"));
    String again = ok("job", "retry", failed).strip();
    assertThat(failed).isEqualTo(later(id, 1));
    assertThat(again).isEqualTo(later(id, 2));
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("job", "status", again).contains("failed (6)")); // with the same variables

    String slow = ok("job", "run", "-e", "PAUSE=300", "demo/report").strip();
    assertThat(cli.run("job", "retry", slow).err()).contains("has not ended");
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("ps").contains(slow + " ")); // under the name of its execution
    ok("job", "cancel", slow);
    assertThat(ok("job", "status", slow)).containsPattern("status +cancell(ing|ed)");
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("job", "status", slow).contains("cancelled"));

    assertThat(ok("cron", "ls")).contains("demo/tick").contains("enabled");
    ok("cron", "disable", "demo/tick");
    assertThat(ok("cron", "ls")).contains("disabled");
    ok("cron", "enable", "demo/tick");
    ok("cron", "pause", "demo/tick");
    assertThat(ok("cron", "ls")).contains("disabled");
    ok("cron", "resume", "demo/tick");
    assertThat(ok("cron", "ls")).contains("enabled");
    ok("cron", "trigger", "demo/tick");
    String now = ok("cron", "run", "demo/tick").strip();
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("job", "logs", now).equals("tick\n"));
  }

  /** The name of the execution that many after another one of the same job. */
  private static String later(String execution, int count) {
    int slash = execution.lastIndexOf('/');
    long number = Long.parseLong(execution.substring(slash + 1));
    return execution.substring(0, slash + 1) + (number + count);
  }

  @Test
  void executionsAreNumberedPerJobAlsoAcrossAKill() throws Exception {
    write(FILE);
    ok("up", "--quiet");
    // the daemon has run these jobs before: a number is never given again
    String report = ok("job", "run", "demo/report").strip();
    String tick = ok("cron", "run", "demo/tick").strip();
    assertThat(ok("job", "run", "demo/report").strip()).isEqualTo(later(report, 1));
    daemon.kill();
    daemon.restart();

    String last = later(report, 2);
    assertThat(ok("job", "run", "demo/report").strip()).isEqualTo(last);
    assertThat(ok("cron", "run", "demo/tick").strip()).isEqualTo(later(tick, 1));
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("job", "status", last).contains("completed (0)"));
    assertThat(ok("job", "history", "demo/report").lines().skip(1).limit(3))
        .extracting(line -> line.split(" ")[0])
        .containsExactly(last, later(report, 1), report);
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("job", "logs", tick).equals("tick\n"));
  }

  @Test
  void waitingForAJobSurvivesTheDaemonsDeath() throws Exception {
    write(FILE);
    ok("up", "--quiet");
    Path output = directory.resolve("waited");
    Process waiting =
        Processes.start(
            Command.of(
                    daemon.process(
                        "job", "run", "--wait", "-e", "PAUSE=6", "-e", "CODE=7", "demo/report"))
                .withEnv(daemon.env()),
            output.toFile());
    try {
      Awaitility.await()
          .atMost(Duration.ofSeconds(40))
          .until(() -> Files.exists(output) && Files.readString(output).contains("first"));
      daemon.kill();
      daemon.restart();
      assertThat(waiting.waitFor(60, TimeUnit.SECONDS)).isTrue();
    } finally {
      waiting.destroyForcibly();
    }

    assertThat(waiting.exitValue()).as(Files.readString(output)).isEqualTo(7);
    assertThat(Files.readString(output).lines().filter(line -> line.matches("first|second")))
        .containsExactly("first", "second");
    Json last = daemon.json("job", "status", "demo/report", "--json");
    assertThat(last.at("attempts").items()).hasSize(1);
  }

  @Test
  void aServiceThatKeepsFailingHasLogs() throws Exception {
    write(
        """
        version: v1
        deployment: demo
        services:
          bad:
            image: {name: "bb:1"}
            command: [sh, -c, "echo no such table; exit 4"]
            env: {PW: "$S:pw"}
            health: {check: {type: command, command: "false"}, interval: 1s} # never ready
        """);
    cli.runWithInput("no such".getBytes(StandardCharsets.UTF_8), "secret", "set", "pw");
    assertThat(cli.run("up").code()).isEqualTo(3);

    CliFixture.Result logs = cli.run("logs", "--previous", "demo/bad");

    assertThat(logs.code()).as(logs.err()).isZero();
    assertThat(logs.out()).contains("[secret] table\n").doesNotContain("no such");
    assertThat(logs.err())
        .matches("(?s)demo/bad/1 ended at [0-9T:-]+Z: exit code 4\n.*")
        .doesNotContain("@");
    assertThat(ok("logs", "-p", "demo/bad/1")).contains("table");
    assertThat(ok("logs", "-p", "demo/bad/2")).isEmpty();
    assertThat(cli.run("logs", "-p", "demo").err()).contains("needs deployment/service");
    ok("secret", "rm", "pw");
  }

  @Test
  void aFailedUpdateNamesTheServiceAndWhatServesInstead() throws Exception {
    write(FILE);
    ok("up", "--quiet");
    String broken = FILE.replace("echo serving; exec sleep 1000", "echo broken; exit 9");
    write(broken);

    CliFixture.Result up = cli.run("up");

    assertThat(up.code()).isEqualTo(3);
    assertThat(up.err())
        .contains("deployment 'demo' failed: web: exit code 9; last output:\n  broken\n")
        .contains("web was rolled back: revision 1 serves, 2 of 2 ready")
        .doesNotContain("3 of 2");
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .untilAsserted(
            () ->
                assertThat(ok("status", "demo"))
                    .contains("degraded", "web: revision 2 was rolled back to 1: exit code 9"));
    String wanted = "~ command[2]: echo serving; exec sleep 1000 -> echo broken; exit 9";
    assertThat(ok("diff")).contains("~ web", "it runs revision 1", wanted);
    assertThat(ok("up", "--dry-run")).contains(wanted);
    assertThat(ok("revisions", "demo"))
        .containsPattern("1 .* up +-\n")
        .containsPattern("2 .* up +degraded \\(web runs revision 1\\)\n");
    assertThat(cli.run("up").err()).as("tried again").contains("web: exit code 9");

    write(FILE.replace("serving", "better"));
    CliFixture.Result better = cli.run("up");
    assertThat(better.code()).as(better.err()).isZero();
    assertThat(better.err())
        .doesNotContain("exit code 9", "3 of 2")
        .contains("web: running, 2 of 2 ready\n");
    assertThat(ok("status", "demo")).doesNotContain("exit code 9");
    assertThat(daemon.json("revisions", "demo", "--json").items()).hasSize(3);
  }

  @Test
  void valuesAreComparedAndADryRunChangesNothing() throws Exception {
    write(FILE);
    ok("up", "--quiet");
    String other =
        FILE.replace("stop_grace_period: 1s", "env: {A: b}").replace("replicas: 2", "replicas: 1");
    write(other.replace("  tick:", "  tock:"));

    assertThat(ok("up", "--dry-run"))
        .contains("- tick", "+ tock", "~ web (replaces its containers)")
        .contains("    + env: {A: b}\n", "    - stop_grace_period: 1s\n")
        .contains("    ~ scale.replicas: 2 -> 1\n");
    assertThat(cli.run("diff", "--exit-code").code()).isEqualTo(1);
    assertThat(daemon.json("revisions", "demo", "--json").items()).hasSize(1);
  }

  @Test
  void whatIsNoLongerInTheFileIsRemovedAndAnotherDirectoryIsNamed() throws Exception {
    write(FILE);
    ok("up", "--quiet");
    Path other = Files.createDirectories(directory.resolve("other")).resolve("demo.zlayer.yml");
    Files.writeString(other, FILE.replace("  web:", "  shop:"));

    CliFixture.Result up = cli.run("up", other.toString());

    assertThat(up.code()).as(up.err()).isZero();
    assertThat(up.err())
        .contains("warning: deployment 'demo' was applied from " + directory + " before")
        .contains("'demo' is ready");
    assertThat(ok("ps", "demo")).contains("demo/shop/1").doesNotContain("demo/web");
    assertThat(cli.run("up", other.toString()).err()).doesNotContain("warning");
  }

  @Test
  void replicasAreListedWithEndpointsAndRestartsAndWithoutGenerations() throws Exception {
    int port;
    try (var free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    write(
        FILE.replace("exec sleep 1000", "exec httpd -f -p 80")
            .replace(
                "    stop_signal: SIGKILL",
                "    stop_signal: SIGKILL\n    endpoints: [{name: a, protocol: http, port: "
                    + port
                    + ", target_port: 80}]"));
    ok("up", "--quiet");
    assertThat(ok("ps").lines().skip(1))
        .allMatch(line -> line.matches("demo/web/[12] .* 0 .*internal " + port + "->80/http"));

    ok("kill", "demo/web/1");

    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("ps").lines().anyMatch(l -> l.matches("demo/web/1 .*running.* 1 .*")));
    assertThat(ok("logs", "demo/web")).contains("demo/web/1 | ").doesNotContain("@");
    assertThat(ok("events")).contains("replica.exited demo/web/1 ").doesNotContain("/1@");
  }

  @Test
  void followingIncludesReplicasThatAreStartedLater() throws Exception {
    write(FILE.replace("replicas: 2", "replicas: 1"));
    ok("up", "--quiet");
    Path output = directory.resolve("followed");
    Process follower =
        Processes.start(
            Command.of(daemon.process("logs", "-f", "demo/web")).withEnv(daemon.env()),
            output.toFile());
    try {
      Awaitility.await()
          .atMost(Duration.ofSeconds(40))
          .until(() -> Files.exists(output) && Files.readString(output).contains("serving"));
      ok("scale", "demo/web=2");
      Awaitility.await()
          .atMost(Duration.ofSeconds(40))
          .until(() -> Files.readString(output).contains("demo/web/2 | serving"));
    } finally {
      follower.destroyForcibly();
    }
  }

  @Test
  void aWholeDeploymentIsStoppedStartedAndRestarted() throws Exception {
    write(FILE);
    ok("up", "--quiet");
    assertThat(cli.run("stop", "--time", "3s", "demo").err()).contains("stop_grace_period");
    assertThat(ok("stop", "demo")).isEqualTo("demo\n");
    assertThat(ok("ps", "--quiet", "demo")).isEmpty();
    assertThat(ok("status")).containsPattern("demo +stopped");

    ok("start", "demo");
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("status", "demo").contains("2/2"));
    String before = ok("ps", "--quiet", "demo");
    ok("restart", "demo");
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(
            () ->
                ok("ps", "--quiet", "demo").lines().noneMatch(before::contains)
                    && ok("status", "demo").contains("2/2"));
    assertThat(cli.run("stop", "none").err()).contains("container 'none' not found");
  }
}
