package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An agent of an ordinary user: real containers, nothing of root. */
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.ROOTLESS
})
final class RootlessIT {
  private static final int USER = 64_322; // nobody else's processes are counted

  @TempDir private static Path directory;
  private static RootlessAgent agent;

  @BeforeAll
  static void serve() throws Exception {
    agent = RootlessAgent.open(directory, USER);
  }

  @AfterAll
  static void uninstall() throws Exception {
    agent.close();
  }

  private static String ok(String... words) throws Exception {
    return agent.ok(words);
  }

  private static String refused(String... words) throws InterruptedException {
    return agent.refused(words);
  }

  @Test
  void rootInsideIsThisUserAndOthersAreOfTheirRange() throws Exception {
    assertThat(ok("info")).contains("rootless").contains("overlayfs yes");
    String printed =
        ok(
            "run",
            "--rm",
            "bb:1",
            "sh",
            "-c",
            "id -u; cat /proc/self/uid_map; touch /f; chown 1000 /f; stat -c %u /f;"
                + " grep ' / ' /proc/mounts");
    assertThat(printed.lines().toList()).first().isEqualTo("0");
    assertThat(printed).containsPattern("0 +" + USER + " +1\n").contains("\n1000\n");
    assertThat(printed).contains("overlay / overlay").contains("userxattr");
  }

  /** runc 2023: control groups of the user were writable inside, where there is no root to ask. */
  @Test
  void controlGroupsAreNotWritten() throws Exception {
    assertThat(
            ok(
                    "run",
                    "--rm",
                    "bb:1",
                    "sh",
                    "-c",
                    "for d in $(awk '/ - cgroup/ {print $5}' /proc/self/mountinfo); do mkdir"
                        + " $d/made 2>/dev/null && echo made $d; for f in cgroup.procs memory.max"
                        + " pids.max; do [ -e $d/$f ] && (echo 0 > $d/$f) 2>/dev/null && echo wrote"
                        + " $d/$f; done; done; echo end")
                .strip())
        .isEqualTo("end");
  }

  @Test
  void publishedPortsAreThoseOfTheHost() throws Exception {
    int port = RootlessAgent.freePort();
    ok("run", "-d", "--name", "web", "-p", port + ":80", "bb:1", "sh", "-c", RootlessAgent.SERVER);
    try {
      assertThat(RootlessAgent.answer(port)).startsWith("hello");
      assertThat(refused("run", "--rm", "-p", port + ":80", "bb:1", "true")).contains("web");
    } finally {
      ok("rm", "-f", "web");
    }
    try (var taken = new ServerSocket(0, 1, InetAddress.ofLiteral("0.0.0.0"))) {
      assertThat(refused("run", "--rm", "-p", taken.getLocalPort() + ":80", "bb:1", "true"))
          .contains("in use");
    }
    assertThat(refused("run", "--rm", "-p", "81:80", "bb:1", "true"))
        .contains("ordinary users may not bind ports below", "ip_unprivileged_port_start");
  }

  @Test
  void whatNeedsControlGroupsIsRefusedWithTheReason() throws Exception {
    ok("run", "-d", "--name", "idle", "bb:1", "sh", "-c", "sleep 1000 & exec sleep 1001");
    try {
      if (Files.exists(Path.of("/sys/fs/cgroup/cgroup.controllers"))) {
        return; // the user manager may have given groups to this user
      }
      assertThat(refused("run", "--rm", "--memory", "64m", "bb:1", "true"))
          .contains("a memory limit: an agent without root has no control groups here");
      assertThat(refused("pause", "idle")).contains("pause: an agent without root");
      assertThat(ok("info"))
          .containsPattern("limits +no\n")
          .contains("limits of containers are refused: this host has no control groups of");
      assertThat(ok("doctor")).containsPattern("limits +warning +limits of containers are refused");
      assertThat(ok("top", "idle")).contains("sleep 1000").contains("sleep 1001");
      assertThat(ok("stats", "--no-stream", "--json")).contains("\"idle\"").contains("\"pids\": 2");
    } finally {
      ok("rm", "-f", "idle");
    }
  }

  @Test
  void theUnitIsOneOfTheUser() throws Exception {
    assertThat(ok("daemon", "install", "--print"))
        .contains("Delegate=yes", "KillMode=process", "WantedBy=default.target")
        .doesNotContain("CapabilityBoundingSet", "OOMScoreAdjust", "multi-user.target");
    assertThat(ok("doctor")).contains("rootless").contains("subuid");
  }

  /** Not everything that is missing can be missing at once: a program is only looked for. */
  @Test
  void whatIsMissingForAnOrdinaryUserIsNamed() throws Exception {
    for (String command : List.of("info", "doctor")) {
      assertThat(agent.lacking(command))
          .contains("newuidmap is not installed: apt-get install uidmap")
          .contains("pasta is not installed: apt-get install passt")
          .contains("/etc/subuid has no range for", "usermod --add-subuids")
          .contains("limits of containers are refused");
    }
  }

  @Test
  void deploymentsEndpointsAndJobsAndSchedulesWork() throws Exception {
    int port = RootlessAgent.freePort();
    Path file = directory.resolve("shop.zlayer.yml");
    Files.writeString(
        file,
        """
        version: v1
        deployment: shop
        services:
          web:
            image: {name: "bb:1", pull_policy: never}
            command: {entrypoint: [sh, -c], args: ["busybox nc -ll -p 80 -e echo shop"]}
            endpoints: [{name: http, protocol: tcp, port: %d, target_port: 80, expose: public}]
          report:
            rtype: job
            image: {name: "bb:1", pull_policy: never}
            command: {entrypoint: [sh, -c], args: ["echo the report"]}
          often:
            rtype: cron
            schedule: "@every 1s"
            image: {name: "bb:1", pull_policy: never}
            command: {entrypoint: [sh, -c], args: ["echo again"]}
        """
            .formatted(port));
    ok("up", file.toString());
    assertThat(RootlessAgent.answer(port)).startsWith("shop");
    assertThat(ok("job", "run", "shop/report", "--wait")).contains("the report");
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> ok("job", "history", "shop/often").contains("completed"));
    ok("down", "shop");
  }
}
