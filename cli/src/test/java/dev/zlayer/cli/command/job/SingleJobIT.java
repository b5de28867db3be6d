package dev.zlayer.cli.command.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jobs that belong to no deployment, from a file, with a real daemon. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class SingleJobIT {
  private static final String JOB =
      """
      image: {name: "bb:1"}
      network_mode: none
      stop_signal: SIGKILL
      command: [sh, -c, "%s"]
      job: {retention: {count: 2}}
      """;

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

  private static void write(String file, String text) throws IOException {
    Files.writeString(directory.resolve(file), text);
  }

  @Test
  void aFileIsRunWithoutADeployment() throws Exception {
    write("report.job.yml", JOB.formatted("echo hello $0; exit 7"));
    CliFixture.Result run = cli.run("job", "run", "-f", "report.job.yml", "--wait");
    assertThat(run.code()).as(run.err()).isEqualTo(7);
    assertThat(run.out()).isEqualTo("hello sh\n");

    assertThat(daemon.ok("job", "ls")).containsPattern("report .*failed \\(7\\)");
    assertThat(daemon.ok("job", "logs", "report")).isEqualTo("hello sh\n");
    assertThat(daemon.ok("job", "status", "report")).contains("failed (7)");
    assertThat(daemon.ok("status")).doesNotContain("report");

    daemon.kill();
    daemon.restart();
    assertThat(daemon.ok("job", "logs", "report")).as("kept across a kill").isEqualTo("hello sh\n");
    assertThat(cli.run("job", "run", "--wait", "-q", "report").code()).isEqualTo(7);
    assertThat(daemon.json("job", "history", "--json", "report").items()).hasSize(2);

    assertThat(cli.run("job", "run", "--wait", "-q", "report").code()).isEqualTo(7);
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(
            () ->
                assertThat(daemon.json("job", "history", "--json", "report").items())
                    .as("retention of its file")
                    .hasSize(2));
  }

  @Test
  void itIsCancelledReplacedAndRemoved() throws Exception {
    write("long.yml", JOB.formatted("echo begun; sleep 1000"));
    String id = daemon.ok("job", "run", "-f", "long.yml").strip();
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> daemon.ok("job", "logs", "long").contains("begun"));
    Json container =
        daemon.json("ps", "--json").items().stream()
            .filter(one -> one.at("service").string().orElse("").equals("long"))
            .findFirst()
            .orElseThrow();
    CliFixture.Result stop = cli.run("stop", container.at("id").string().orElseThrow());
    assertThat(stop.err()).contains("belongs to job 'long'").contains("zlayer job cancel");
    daemon.ok("job", "cancel", id);
    assertThat(daemon.json("job", "status", "--json", "long").at("name").string()).contains(id);

    write("long.yml", JOB.formatted("echo replaced"));
    CliFixture.Result again = cli.run("job", "run", "-f", "long.yml", "--wait", "-q");
    assertThat(again.out()).isEqualTo("replaced\n");

    assertThat(daemon.ok("job", "rm", "long")).isEqualTo("long\n");
    assertThat(daemon.ok("job", "ls")).doesNotContain("long");
    CliFixture.Result unknown = cli.run("job", "run", "long");
    assertThat(unknown.code()).isEqualTo(2);
    assertThat(unknown.err()).contains("job 'long'");
    assertThat(cli.run("job", "rm", "long").code()).isEqualTo(2);
    assertThat(cli.run("job", "rm", "shop/long").err()).contains("belongs to a deployment");
    assertThat(daemon.ok("job", "logs", "long")).as("results are kept").isEqualTo("replaced\n");
  }

  @Test
  void containersMadeAheadAreShownAsPreparedAndRunTheJob() throws Exception {
    write(
        "early.yml",
        JOB.formatted("echo early; exit 5").replace("retention: {count: 2}", "warm: 1"));
    assertThat(cli.run("job", "run", "-f", "early.yml", "--wait", "-q").code()).isEqualTo(5);
    Json ready = prepared();
    String id = ready.at("id").string().orElseThrow();
    assertThat(daemon.ok("ps", "--all")).containsPattern("early/prepared-\\d+ .*prepared");
    assertThat(daemon.ok("ps")).doesNotContain("early/prepared");
    assertThat(daemon.ok("stats", "--no-stream")).contains("early/prepared-");

    CliFixture.Result run = cli.run("job", "run", "--wait", "early");
    assertThat(run.code()).as(run.err()).isEqualTo(5);
    assertThat(run.out()).isEqualTo("early\n");
    Json status = daemon.json("job", "status", "--json", "early");
    assertThat(status.at("attempts").items().getLast().at("container").string()).contains(id);

    daemon.ok("job", "rm", "early");
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> !daemon.ok("ps", "--all").contains("early"));
  }

  private static Json prepared() {
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> daemon.ok("ps", "--all").contains("prepared"));
    return daemon.json("ps", "--all", "--json").items().stream()
        .filter(one -> one.at("state").string().orElse("").equals("prepared"))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aJobOfADeploymentFileIsTakenAlone() throws Exception {
    write(
        "shop.zlayer.yml",
        """
        version: v1
        deployment: shop
        services:
          web:
            image: {name: "bb:1"}
            command: [sleep, "1000"]
          one:
            rtype: job
            image: {name: "bb:1"}
            network_mode: none
            command: [echo, one]
          two:
            rtype: job
            image: {name: "bb:1"}
            command: [echo, two]
            job: {needs: [one]}
        """);
    CliFixture.Result several = cli.run("job", "run", "-f", "shop.zlayer.yml");
    assertThat(several.code()).isEqualTo(2);
    assertThat(several.err()).contains("several jobs").contains("--job").contains("one, two");
    CliFixture.Result one =
        cli.run("job", "run", "-f", "shop.zlayer.yml", "--job", "one", "--wait");
    assertThat(one.code()).as(one.err()).isZero();
    assertThat(one.out()).isEqualTo("one\n");
    assertThat(cli.run("job", "run", "-f", "shop.zlayer.yml", "--job", "two").err())
        .contains("services.two.job.needs")
        .contains("cannot wait for others");
    assertThat(cli.run("job", "run", "-f", "shop.zlayer.yml", "--job", "web").err())
        .contains("'web' is not a job");
    assertThat(cli.run("job", "run", "-f", "shop.zlayer.yml", "--job", "none").err())
        .contains("job 'none' in shop.zlayer.yml not found");
    assertThat(daemon.ok("ps", "-a")).as("nothing else of the file runs").doesNotContain("web");
  }

  @Test
  void mistakesAreReportedWithTheirPosition() throws Exception {
    write("bad.yml", "image: {name: \"bb:1\"}\ncomand: [echo]\njob: {deadline: soon}\n");
    CliFixture.Result bad = cli.run("job", "run", "-f", "bad.yml");
    assertThat(bad.code()).isEqualTo(2);
    assertThat(bad.err())
        .contains("bad.yml:2:1: comand: unknown key")
        .contains("bad.yml:3:17: job.deadline: ");
    assertThat(daemon.ok("job", "ls")).doesNotContain("bad");
    assertThat(cli.run("job", "run").err()).contains("name a job, or a file with -f");
    assertThat(cli.run("job", "run", "--job", "x", "shop/x").err()).contains("add -f FILE");
    assertThat(
            cli.runWithInput(
                    JOB.getBytes(java.nio.charset.StandardCharsets.UTF_8), "job", "run", "-f", "-")
                .err())
        .contains("add --job");
  }
}
