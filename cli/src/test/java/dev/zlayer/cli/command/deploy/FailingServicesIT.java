package dev.zlayer.cli.command.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a person sees of services that fail: exit codes, phases, output, and no secrets. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class FailingServicesIT {
  private static final String IMAGE =
      "image: {name: \"bb:1\"}, network_mode: none, stop_signal: SIGKILL";

  @TempDir static Path directory;
  private static DaemonFixture daemon;
  private static CliFixture cli;

  @BeforeAll
  static void open() {
    daemon = DaemonFixture.start(directory).withBusybox("bb:1");
    cli = daemon.cli();
  }

  @AfterAll
  static void close() {
    if (daemon != null) {
      daemon.close();
    }
  }

  @AfterEach
  void remove() {
    cli.run("down", "demo");
  }

  private static CliFixture.Result up(String services) throws IOException {
    Files.writeString(
        directory.resolve("demo.zlayer.yml"),
        "version: v1\ndeployment: demo\nservices:\n" + services.replace("IMAGE", IMAGE).indent(2));
    return cli.run("up");
  }

  /** Of steps, checks and replicas that print without end the agent keeps a little. */
  @Test
  void outputWithoutEndIsBoundedWhereverItIsCaptured() throws Exception {
    String endless = "tr '\\\\0' x < /dev/zero | head -c 60000000";
    CliFixture.Result ended =
        up(
            """
            bad: {IMAGE, command: [sh, -c, "ENDLESS; exit 4"]}
            held: {IMAGE, command: [sleep, "300"], health: {check: {type: command, command: "ENDLESS"}, interval: 1s, timeout: 20s}}
            late: {IMAGE, command: [sleep, "300"], health: {check: {type: command, command: "tr a b < /dev/zero"}, interval: 1s, timeout: 1s, retries: 1000}}
            step: {IMAGE, command: [sleep, "300"], init: {steps: [{id: one, uses: init.run, with: {command: [sh, -c, "ENDLESS; exit 5"]}}]}}
            """
                .replace("ENDLESS", endless));

    assertThat(ended.code()).isEqualTo(3);
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(() -> assertThat(daemon.ok("ps", "demo/held")).contains("(healthy)"));
    assertThat(daemon.ok("ps", "demo/late")).contains("running").doesNotContain("(healthy)");
    assertThat(daemon.ok("status", "demo", "--json").length()).isLessThan(1_500_000);
    assertThat(daemon.ok("events", "--json", "--since", "0").length()).isLessThan(3_000_000);
  }

  @Test
  void upOfAServiceThatEndsAgainAndAgainFails() throws Exception {
    String file =
        """
        bad: {IMAGE, command: [sh, -c, "echo no such table; exit 4"]}
        late: {IMAGE, command: [sh, -c, "sleep 0.4; exit 5"]}
        """;
    CliFixture.Result first = up(file);
    assertThat(first.code()).as(first.err()).isEqualTo(3);
    assertThat(up(file).code()).as("the same once more").isEqualTo(3);

    CliFixture.Result logs = cli.run("logs", "demo/bad");
    assertThat(logs.code()).as(logs.err()).isZero();
    assertThat(logs.out()).contains("no such table\n");
    assertThat(daemon.ok("ps", "-a", "demo/bad")).containsPattern("demo/bad/1 .*\\(exit code 4\\)");
    assertThat(daemon.json("ps", "-a", "--json", "demo/late").items())
        .anySatisfy(one -> assertThat(one.at("status").string()).contains("exit code 5"));
    assertThat(daemon.ok("ps", "demo")).doesNotContain("exit code");
    assertThat(daemon.ok("ps", "-aq", "demo").lines())
        .allMatch(id -> id.matches("(bad|late)-[0-9a-f]{16}"));
  }

  @Test
  void aServiceThatRecoversIsReadyAfterItsTime() throws Exception {
    CliFixture.Result result =
        up(
            """
            once:
              {IMAGE, storage: [{type: named, name: marks, target: /m}],
               update: {min_healthy_time: 1s},
               command: [sh, -c, "test -e /m/seen && exec sleep 1000; touch /m/seen; exit 1"]}
            """);
    assertThat(result.code()).as(result.err()).isZero();
    Json replica =
        daemon.json("status", "--json", "demo").at("services").items().getFirst().at("replicas");
    assertThat(replica.items().getFirst().at("restarts").integer()).contains(1L);
    daemon.ok("down", "--volumes", "demo");
  }

  @Test
  void whatWentWrongBeforeIsNoNewsOfTheNextFile() throws Exception {
    CliFixture.Result bad =
        up(
            """
            bad: {IMAGE, command: [sh, -c, "exit 4"]}
            web: {IMAGE, command: [sh, -c, "exit 5"]}
            """);
    assertThat(bad.code()).as(bad.err()).isEqualTo(3);

    CliFixture.Result fixed = up("web: {IMAGE, command: [sleep, \"1000\"]}");
    assertThat(fixed.code()).as(fixed.err()).isZero();
    assertThat(fixed.err()).contains("1 of 1 ready").doesNotContain("exit code");
    assertThat(daemon.ok("status", "demo")).doesNotContain("exit code", "bad");

    daemon.ok("kill", "demo/web/1");
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> daemon.ok("ps", "demo").matches("(?s).*demo/web/1 .*running.* [1-9] .*"));
    CliFixture.Result again = up("web: {IMAGE, command: [sleep, \"1001\"]}");
    assertThat(again.code()).as(again.err()).isZero();
    assertThat(again.err()).contains("web: running, 1 of 1 ready").doesNotContain("SIGKILL");
    assertThat(daemon.ok("status", "demo")).doesNotContain("SIGKILL");
  }

  @Test
  void aReplicaThatIsNotRestartedIsKeptUnlessTheFileSaysOtherwise() throws Exception {
    CliFixture.Result up =
        up(
            """
            kept: {IMAGE, restart_policy: {kind: "no"}, command: ["true"]}
            brief: {IMAGE, restart_policy: {kind: "no"}, lifecycle: {delete_on_exit: true}, command: ["true"]}
            """);
    assertThat(up.code()).as(up.err()).isZero();
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .untilAsserted(
            () ->
                assertThat(daemon.json("ps", "--all", "--json", "demo").items())
                    .filteredOn(one -> one.at("state").string().equals(Optional.of("exited")))
                    .extracting(one -> one.at("service").string().orElse(""))
                    .containsExactly("kept"));
    assertThat(daemon.ok("inspect", "demo/kept/1")).contains("exited");
    assertThat(cli.run("inspect", "demo/brief/1").code()).isEqualTo(2);
  }

  @Test
  void aFailureNamesItsPhase() throws Exception {
    assertThat(up("web: {image: {name: \"127.0.0.1:1/none:1\"}, update: {rollback: false}}").err())
        .contains("image pull failed: ")
        .containsOnlyOnce("connection refused")
        .doesNotContain("wasm", "WebAssembly");
    assertThat(daemon.ok("status", "demo")).contains("image pull failed: ");
    daemon.ok("down", "demo");

    CliFixture.Result init =
        up(
            """
            web:
              image: {name: "bb:1"}
              network_mode: none
              stop_signal: SIGKILL
              command: [sleep, "1000"]
              init:
                steps:
                  - {id: first, uses: init.run, with: {command: "true"}}
                  - {id: second, uses: init.run, with: {command: "echo migrating; exit 4"}}
            """);
    assertThat(init.code()).isEqualTo(3);
    assertThat(init.err()).contains("init step 2 failed: ").contains("'second'");
    assertThat(daemon.ok("status", "demo")).contains("init step 2 failed: ");
    assertThat(daemon.ok("events", "--json", "--since", "0")).contains("init step 2 failed: ");
    assertThat(daemon.ok("ps", "-a", "demo/web")).contains("init step 'second'");
    assertThat(cli.run("logs", "demo/web").out()).isEqualTo("migrating\n");
    daemon.ok("down", "demo");

    CliFixture.Result start = up("web: {IMAGE, command: [/no/such]}");
    assertThat(start.code()).isEqualTo(3);
    assertThat(start.err()).contains("start failed: ");
  }

  @Test
  void secretsAreHiddenInTheOutputOfJobsAndInitSteps() throws Exception {
    cli.runWithInput("hunter2".getBytes(StandardCharsets.UTF_8), "secret", "set", "pw");
    CliFixture.Result job =
        up(
            """
            migrate: {rtype: job, IMAGE, env: {PW: "$S:pw"}, command: [sh, -c, "echo with $PW; exit 9"]}
            web:
              {IMAGE, command: [sleep, "1000"], depends: [{service: migrate, condition: completed}]}
            """);
    assertThat(job.code()).as(job.err()).isEqualTo(3);
    assertThat(job.err()).contains("with [secret]").doesNotContain("hunter2");
    assertThat(daemon.ok("status", "demo")).contains("with [secret]").doesNotContain("hunter2");
    assertThat(daemon.ok("status", "--json", "demo"))
        .contains("with [secret]")
        .doesNotContain("hunter2");
    daemon.ok("down", "demo");

    CliFixture.Result init =
        up(
            """
            web:
              image: {name: "bb:1"}
              network_mode: none
              stop_signal: SIGKILL
              env: {PW: "$S:pw"}
              command: [sleep, "1000"]
              init: {steps: [{id: check, uses: init.run, with: {command: "echo using $PW; exit 4"}}]}
            """);
    assertThat(init.code()).as(init.err()).isEqualTo(3);
    assertThat(init.err()).doesNotContain("hunter2");
    CliFixture.Result logs = cli.run("logs", "--previous", "demo/web");
    assertThat(logs.out()).contains("using [secret]").doesNotContain("hunter2");
    assertThat(daemon.ok("status", "--json", "demo")).doesNotContain("hunter2");
    assertThat(daemon.ok("events", "--json", "--since", "0")).doesNotContain("hunter2");
    daemon.ok("secret", "rm", "pw");
  }
}
