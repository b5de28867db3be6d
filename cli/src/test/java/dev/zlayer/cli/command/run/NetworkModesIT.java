package dev.zlayer.cli.command.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Networks and namespaces as a person asks for them, with a real daemon. */
@Timeout(240)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class NetworkModesIT {
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
    cli.run("down", "demo", "--volumes");
    daemon.ok("ps", "--all", "--quiet").lines().forEach(id -> cli.run("rm", "-f", id));
  }

  private static String ok(String... arguments) {
    return daemon.ok(arguments);
  }

  @Test
  void namespacesOfAnotherContainerAreShared() {
    ok("run", "-d", "--name", "owner", "bb:1", "sleep", "1000");
    String namespaces = "for one in net pid ipc; do readlink /proc/self/ns/$one; done";
    String owner = ok("exec", "owner", "sh", "-c", namespaces);

    assertThat(
            ok(
                "run",
                "--rm",
                "--network",
                "container:owner",
                "--pid",
                "container:owner",
                "--ipc",
                "container:owner",
                "bb:1",
                "sh",
                "-c",
                namespaces))
        .isEqualTo(owner);
  }

  @Test
  void aSharedNetworkSurvivesRestarts() {
    String namespace = "readlink /proc/self/ns/net";
    ok("run", "-d", "--name", "owner", "bb:1", "sleep", "1000");
    ok("run", "-d", "--name", "guest", "--network", "container:owner", "bb:1", "sleep", "1000");
    ok("restart", "-t", "0", "owner");
    ok("restart", "-t", "0", "guest");
    assertThat(ok("exec", "guest", "sh", "-c", namespace))
        .isEqualTo(ok("exec", "owner", "sh", "-c", namespace));

    daemon.kill();
    daemon.restart();
    ok("restart", "-t", "0", "guest");
    assertThat(ok("exec", "guest", "sh", "-c", namespace))
        .isEqualTo(ok("exec", "owner", "sh", "-c", namespace));
  }

  @Test
  void aContainerThatIsAbsentOrStoppedCannotBeShared() {
    CliFixture.Result absent =
        cli.run("run", "--rm", "--network", "container:nobody", "bb:1", "true");
    assertThat(absent.code()).isNotZero();
    assertThat(absent.err()).contains("container 'nobody'").doesNotContain("\tat ");

    ok("run", "--name", "ended", "bb:1", "true");
    for (String flag : new String[] {"--network", "--pid", "--ipc"}) {
      CliFixture.Result stopped = cli.run("run", "--rm", flag, "container:ended", "bb:1", "true");
      assertThat(stopped.code()).as(flag).isNotZero();
      assertThat(stopped.err())
          .as(flag)
          .contains("container 'ended' is not running, so its namespaces cannot be shared");
    }
  }

  @Test
  void aDeploymentSharesTheNetworkOfAContainer() throws Exception {
    ok("run", "-d", "--name", "owner", "bb:1", "sleep", "1000");
    up(
        """
        web:
          image: {name: "bb:1"}
          command: [sleep, "1000"]
          stop_signal: SIGKILL
          network_mode: container:owner
        """);
    assertThat(cli.run("up").code()).isZero();
    String namespace = "readlink /proc/self/ns/net";
    assertThat(ok("exec", "demo/web", "sh", "-c", namespace))
        .isEqualTo(ok("exec", "owner", "sh", "-c", namespace));
  }

  @Test
  void containersOfANetworkFindEachOtherByName() {
    ok("run", "-d", "--name", "first", "--network", "meet", "bb:1", "sleep", "1000");
    ok("run", "-d", "--name", "far", "--network", "other", "bb:1", "sleep", "1000");
    String address = ok("exec", "first", "hostname", "-i").strip();
    ok("run", "-d", "--name", "second", "--network", "meet", "bb:1", "sleep", "1000");

    assertThat(ok("exec", "second", "ping", "-c", "1", "-w", "5", "first")).contains(address);
    assertThat(ok("exec", "first", "nslookup", "-type=a", "second")).contains("Address");
    assertThat(cli.run("exec", "second", "ping", "-c", "1", "-w", "5", "far").code())
        .as("on another network")
        .isNotZero();
    daemon.kill();
    daemon.restart();
    assertThat(ok("exec", "second", "ping", "-c", "1", "-w", "5", "first")).contains(address);
  }

  @Test
  void upFailsWhenThePortOfAnEndpointIsTaken() throws Exception {
    try (var taken = new ServerSocket(0)) {
      up(
          """
          web:
            image: {name: "bb:1"}
            command: [sleep, "1000"]
            stop_signal: SIGKILL
            endpoints: [{name: http, protocol: tcp, port: %d, target_port: 80, expose: public}]
          """
              .formatted(taken.getLocalPort()));

      CliFixture.Result up = cli.run("up");

      assertThat(up.code()).as(up.err()).isNotZero();
      assertThat(up.err())
          .contains(
              "port %d is already in use by java (pid %d)"
                  .formatted(taken.getLocalPort(), ProcessHandle.current().pid()));
    }
  }

  private static void up(String services) throws Exception {
    Files.writeString(
        directory.resolve("demo.zlayer.yml"),
        "version: v1\ndeployment: demo\nservices:\n" + services.indent(2));
  }
}
