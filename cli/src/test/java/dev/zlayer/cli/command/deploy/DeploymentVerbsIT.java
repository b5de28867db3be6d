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

    assertThat(cli.run("down", "demo").err()).contains("'demo' is removed");
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
    assertThat(cli.run("job", "logs", "-f", id).code()).isZero();
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("job", "status", id).contains("completed (0)"));
    assertThat(ok("job", "logs", id)).contains("first");
    assertThat(ok("job", "history", "demo/report"))
        .contains("failed (5)")
        .contains("completed (0)");
    assertThat(ok("job", "ls")).contains("demo/report").contains("completed (0)");

    String slow = ok("job", "run", "-e", "PAUSE=300", "demo/report").strip();
    ok("job", "cancel", slow);
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("job", "status", slow).contains("cancelled"));

    assertThat(ok("cron", "ls")).contains("demo/tick").contains("enabled");
    ok("cron", "disable", "demo/tick");
    assertThat(ok("cron", "ls")).contains("disabled");
    ok("cron", "enable", "demo/tick");
    String now = ok("cron", "run", "demo/tick").strip();
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ok("job", "logs", now).equals("tick\n"));
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
    assertThat(logs.err()).contains("demo/bad/1").contains("exit code 4");
    assertThat(ok("logs", "-p", "demo/bad/1")).contains("table");
    assertThat(ok("logs", "-p", "demo/bad/2")).isEmpty();
    assertThat(cli.run("logs", "-p", "demo").err()).contains("needs deployment/service");
    ok("secret", "rm", "pw");
  }
}
