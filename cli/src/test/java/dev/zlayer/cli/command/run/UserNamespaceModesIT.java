package dev.zlayer.cli.command.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A daemon whose containers have users of their own unless somebody says otherwise. */
@Timeout(240)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class UserNamespaceModesIT {
  private static final String FILE =
      """
      version: v1
      deployment: demo
      services:
        web:
          rtype: service
          image: {name: "bb:1"}
          command: [sh, -c, "echo ready > /data/ready; sleep 1000"]
          network_mode: none
          stop_signal: SIGKILL
          scale: {mode: fixed, replicas: 2}
          secrets: [password]
          storage: [{type: named, name: content, target: /data}]
          health:
            check: {type: command, command: "grep -q s3cret /run/secrets/password && test -O /data/ready"}
            interval: 1s
        work:
          rtype: job
          image: {name: "bb:1"}
          network_mode: none
          command: [sh, -c, "mkdir /out; echo kept > /out/a.txt; chown 1000:1000 /out/a.txt"]
          job: {artifacts: [/out]}
      """;

  @TempDir static Path directory;
  private static DaemonFixture daemon;
  private static CliFixture cli;

  @BeforeAll
  static void startADaemon() throws Exception {
    Files.createDirectories(directory.resolve("etc"));
    Files.writeString(
        directory.resolve("etc/zlayer.yml"), "userns: auto\nuserns_pool: 1900000000:655360\n");
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
    cli.run("down", "demo", "--volumes");
    daemon.ok("ps", "--all", "--quiet").lines().forEach(id -> cli.run("rm", "-f", id));
  }

  private static String ok(String... arguments) {
    return daemon.ok(arguments);
  }

  private static String map(String... words) {
    return ok(words).strip().replaceAll(" +", " ");
  }

  @Test
  void everybodyHasUsersOfTheirOwnUnlessSomebodySaysOtherwise() {
    assertThat(map("run", "--rm", "bb:1", "cat", "/proc/self/uid_map")).matches("0 19\\d{8} 65536");
    assertThat(map("run", "--rm", "--userns", "private", "bb:1", "cat", "/proc/self/uid_map"))
        .matches("0 19\\d{8} 65536");
    assertThat(map("run", "--rm", "--userns", "host", "bb:1", "cat", "/proc/self/uid_map"))
        .isEqualTo("0 0 4294967295");
    CliFixture.Result privileged = cli.run("run", "--rm", "--privileged", "bb:1", "true");
    assertThat(privileged.code()).isEqualTo(2);
    assertThat(privileged.err())
        .contains("privileged cannot be combined with users of its own")
        .contains("'userns: auto'; use userns_mode 'host'");
    ok("run", "--rm", "--privileged", "--userns", "host", "bb:1", "true");
    CliFixture.Result host =
        cli.run("run", "--rm", "--userns", "private", "--network", "host", "bb:1", "true");
    assertThat(host.code()).isEqualTo(2);
    assertThat(host.err())
        .contains("the network of the host cannot be combined with users of its own");
  }

  @Test
  void aDeploymentIsHealthyAndSurvivesItsDaemon() throws Exception {
    Files.writeString(directory.resolve("demo.zlayer.yml"), FILE);
    assertThat(
            cli.runWithInput("s3cret".getBytes(StandardCharsets.UTF_8), "secret", "set", "password")
                .code())
        .isZero();
    ok("up", "--wait", "60s", "demo.zlayer.yml");
    String one = map("exec", "demo/web/1", "cat", "/proc/self/uid_map");
    String two = map("exec", "demo/web/2", "cat", "/proc/self/uid_map");
    assertThat(one).isNotEqualTo(two);
    assertThat(ok("exec", "demo/web/2", "stat", "-c", "%u", "/data/ready").strip()).isEqualTo("0");

    daemon.kill();
    daemon.restart();
    assertThat(map("exec", "demo/web/1", "cat", "/proc/self/uid_map")).isEqualTo(one);

    ok("job", "run", "--wait", "--quiet", "demo/work");
    ok("job", "artifacts", "-o", "out.tar", "demo/work", "/out");
    assertThat(Files.readString(directory.resolve("out.tar"), StandardCharsets.ISO_8859_1))
        .contains("kept\n")
        .contains("0001750"); // 1000, as the job wrote it
  }

  @Test
  void filesAreCopiedBothWaysAndCommandsSeeThem() throws Exception {
    ok("run", "-d", "--name", "box", "bb:1", "sleep", "1000");
    Files.writeString(directory.resolve("in.txt"), "from outside");
    ok("cp", "in.txt", "box:/tmp");
    assertThat(ok("exec", "box", "sh", "-c", "cat /tmp/in.txt; stat -c ' %u' /tmp/in.txt").strip())
        .isEqualTo("from outside 0");
    ok("exec", "box", "sh", "-c", "echo inside > /tmp/out.txt");
    ok("cp", "box:/tmp/out.txt", "out.txt");
    assertThat(directory.resolve("out.txt")).hasContent("inside\n");
    assertThat(Files.getAttribute(directory.resolve("out.txt"), "unix:uid")).isEqualTo(0);
    ok("stop", "-t", "0", "box");
    ok("start", "box");
    assertThat(ok("exec", "box", "cat", "/tmp/in.txt")).isEqualTo("from outside");
  }
}
