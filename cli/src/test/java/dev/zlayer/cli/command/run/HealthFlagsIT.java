package dev.zlayer.cli.command.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The health of single containers, with Docker's flags. */
@Timeout(120)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class HealthFlagsIT {
  private static final Duration LIMIT = Duration.ofSeconds(30);

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
  void removeContainers() {
    daemon.ok("ps", "--all", "--quiet").lines().forEach(id -> cli.run("rm", "-f", id));
  }

  private static Json container(String name) {
    return daemon.json("inspect", name).at("container");
  }

  private static void awaitHealth(String name, String health) {
    Awaitility.await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(container(name).at("health").string()).contains(health));
  }

  private static void run(String name, String... flags) {
    var words = new ArrayList<>(List.of("run", "-d", "--name", name));
    words.addAll(List.of(flags));
    words.addAll(List.of("bb:1", "sleep", "1000"));
    daemon.ok(words.toArray(String[]::new));
  }

  @Test
  void healthFollowsTheCheckAndSurvivesTheDaemon() {
    run(
        "web",
        "--health-cmd",
        "echo looked; test -e /works",
        "--health-interval",
        "200ms",
        "--health-retries",
        "2",
        "--health-timeout",
        "10s");

    awaitHealth("web", "unhealthy");
    assertThat(daemon.ok("ps")).contains("running (unhealthy)");
    Json check = daemon.json("inspect", "web").at("health_check");
    assertThat(check.at("output").string().orElse("")).contains("looked").contains("code 1");
    assertThat(check.at("failures").integer().orElse(0L)).isGreaterThanOrEqualTo(2);

    daemon.ok("exec", "web", "touch", "/works");
    awaitHealth("web", "healthy");
    assertThat(daemon.ok("ps", "--filter", "health=healthy", "--format", "{{.Name}}"))
        .isEqualTo("web\n");
    assertThat(daemon.ok("events")).contains("container.unhealthy").contains("container.healthy");

    daemon.kill();
    daemon.restart();
    awaitHealth("web", "healthy");
    daemon.ok("exec", "web", "rm", "/works");
    awaitHealth("web", "unhealthy");
    assertThat(container("web").at("restarts").integer()).as("only reported").contains(0L);

    daemon.ok("stop", "-t", "0s", "web");
    assertThat(container("web").at("health").string()).as("of one that runs only").isEmpty();
    daemon.ok("start", "web");
    awaitHealth("web", "unhealthy");
  }

  @Test
  void failuresDoNotCountAtTheStart() {
    run(
        "slow",
        "--health-cmd",
        "false",
        "--health-interval",
        "100ms",
        "--health-retries",
        "1",
        "--health-start-period",
        "10m");

    Awaitility.await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(
                        daemon
                            .json("inspect", "slow")
                            .at("health_check")
                            .at("output")
                            .string()
                            .orElse(""))
                    .contains("code 1"));
    assertThat(container("slow").at("health").string()).contains("starting");
  }

  @Test
  void aCheckThatHangsFailsAfterItsTime() {
    run(
        "hung",
        "--health-cmd",
        "sleep 1000",
        "--health-interval",
        "100ms",
        "--health-retries",
        "1",
        "--health-timeout",
        "300ms");

    awaitHealth("hung", "unhealthy");
    assertThat(daemon.json("inspect", "hung").at("health_check").at("output").string().orElse(""))
        .contains("did not end within 300ms");
  }

  @Test
  void aCheckEndsAlthoughAProcessThatItLeftKeepsItsOutput() {
    run(
        "leaving",
        "--health-cmd",
        "echo looked; sleep 1000 & test -e /works",
        "--health-interval",
        "100ms",
        "--health-retries",
        "1",
        "--health-timeout",
        "30s");

    awaitHealth("leaving", "unhealthy");
    assertThat(
            daemon.json("inspect", "leaving").at("health_check").at("output").string().orElse(""))
        .contains("looked")
        .contains("code 1");
    daemon.ok("exec", "leaving", "touch", "/works");
    awaitHealth("leaving", "healthy");
  }

  @Test
  void withoutACommandNothingIsChecked() {
    run("plain", "--no-healthcheck");

    assertThat(container("plain").at("health").string()).isEmpty();
    CliFixture.Result alone = cli.run("run", "--health-interval", "1s", "bb:1", "true");
    assertThat(alone.code()).isEqualTo(2);
    assertThat(alone.err()).contains("--health-cmd");
    assertThat(cli.run("run", "--no-healthcheck", "--health-cmd", "x", "bb:1").err())
        .contains("--no-healthcheck cannot be used");
    assertThat(cli.run("run", "--health-cmd", "x", "--health-interval", "0s", "bb:1").err())
        .contains("health.interval has to be above 0");
  }
}
