package dev.zlayer.cli.command.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Path;
import java.time.Instant;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What there is, in the form asked for, and what of it can go. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class HousekeepingIT {
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

  private static String ok(String... arguments) {
    return daemon.ok(arguments);
  }

  @Test
  void containersAreFilteredAndPrintedInTheFormAskedFor() {
    ok(
        "run",
        "-d",
        "--name",
        "on",
        "--label",
        "team=a",
        "--network",
        "none",
        "bb:1",
        "sleep",
        "99");
    ok("run", "--name", "off", "--network", "none", "bb:1", "true");

    assertThat(ok("ps", "--format", "{{.Names}}\\t{{.Image}}")).isEqualTo("on\tbb:1\n");
    assertThat(ok("ps", "--filter", "status=exited", "--format", "{{.Name}} {{.Status}}"))
        .isEqualTo("off exited (0)\n");
    assertThat(ok("ps", "-a", "--format", "table {{.Name}}\\t{{.State}}"))
        .containsPattern("NAME +STATE\n")
        .containsPattern("on +running\n");
    assertThat(ok("ps", "-a", "--filter", "label=team=a", "--filter", "name=o", "-q").lines())
        .hasSize(1);
    assertThat(ok("ps", "--filter", "label=team=b", "-q")).isEmpty();
    assertThat(cli.run("ps", "--filter", "color=red").err()).contains("keys are ancestor");
    assertThat(cli.run("ps", "--format", "{{.Color}}").err()).contains("no field 'Color'");
  }

  @Test
  void whatIsNotUsedIsShownAndRemoved() {
    ok("run", "-d", "--name", "on", "--network", "none", "bb:1", "sleep", "99");
    ok("run", "--name", "off", "--network", "none", "-v", "kept:/data", "bb:1", "true");
    daemon.withBusybox("spare:1");

    assertThat(ok("system", "df")).containsPattern("containers +2 +1 ").contains("images");
    assertThat(ok("container", "prune", "--dry-run")).isEqualTo("container off\n");
    CliFixture.Result asked = cli.run("container", "prune");
    assertThat(asked.code()).isEqualTo(2);
    assertThat(asked.err()).contains("container off", "without a terminal; use --force");
    assertThat(ok("container", "prune", "--force")).isEqualTo("removed container off\n");
    assertThat(cli.run("container", "prune", "-f").err()).contains("nothing to remove");

    assertThat(ok("system", "prune", "--dry-run")).doesNotContain("volume");
    assertThat(ok("system", "prune", "-f", "--volumes")).contains("removed volume kept");
    assertThat(ok("volume", "ls", "-q")).doesNotContain("kept");
    assertThat(ok("ps", "-q").lines()).hasSize(1);
    assertThat(ok("image", "ls")).contains("bb:1");
  }

  @Test
  void eventsAreShownFromTheEndAndByTime() throws Exception {
    ok("run", "--name", "first", "--network", "none", "bb:1", "true");
    ok("rm", "first");
    Instant between = Instant.now();
    ok("run", "--name", "second", "--network", "none", "bb:1", "true");

    assertThat(ok("events", "--tail", "1").lines()).hasSize(1);
    assertThat(ok("events", "-n", "3").lines()).hasSize(3);
    assertThat(ok("events", "--since", between.toString()))
        .contains("container.created second")
        .doesNotContain("first");
    assertThat(ok("events", "--until", between.toString()))
        .contains("container.removed first")
        .doesNotContain("second");
    assertThat(ok("events", "--since", "1h")).contains("first", "second");
    assertThat(cli.run("events", "--since", "often").err()).contains("--since 'often' is neither");
    assertThat(cli.run("events", "-f", "--until", "1h").code()).isEqualTo(2);
  }
}
