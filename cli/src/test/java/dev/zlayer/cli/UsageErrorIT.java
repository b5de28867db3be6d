package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.CommandResult;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Whatever a person gets wrong: one message that says what to do, and the exit code of its blame.
 */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class UsageErrorIT {
  private static final String SHOP =
      """
      version: v1
      deployment: shop
      services:
        api:
          image: {name: bb:1}
          command: {args: [sleep, "1000"]}
          stop_signal: KILL
          scale: {mode: fixed, replicas: 2}
        nightly:
          rtype: cron
          schedule: "0 3 * * *"
          image: {name: bb:1}
          command: ["true"]
      """;

  @TempDir static Path directory;
  private static DaemonFixture daemon;
  private static int port;

  @BeforeAll
  static void startADaemonWithAContainerAndADeployment() throws IOException {
    try (var free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    daemon = DaemonFixture.start(directory).withBusybox("bb:1");
    Files.writeString(directory.resolve("shop.zlayer.yml"), SHOP);
    Files.writeString(directory.resolve("bad.yml"), "version: v1\n  deployment: [\n");
    daemon.ok("up", "shop.zlayer.yml");
    daemon.ok("run", "-d", "--name", "web", "-p", port + ":80", "bb:1", "sleep", "1000");
    daemon.ok("run", "-d", "--name", "frozen", "--network", "none", "bb:1", "sleep", "1000");
    daemon.ok("pause", "frozen");
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      daemon.cli().run("unpause", "frozen");
      daemon.close();
    }
  }

  /** What was typed, which code comes back, and words that the message has. */
  private record Row(String typed, int code, String... words) {
    @Override
    public String toString() {
      return typed;
    }
  }

  private static Stream<Row> mistakes() {
    return Stream.of(
        // words
        new Row("run --memory 5q bb:1", 2, "--memory '5q' is not a size", "512m"),
        new Row("run --cpus 0 bb:1 true", 2, "zlayer: resources.cpu", "above 0"),
        new Row("run --restart sometimes bb:1", 2, "on-failure[:MAX]"),
        new Row("run --publish 99999:80 bb:1", 2, "ports are from 1 to 65535"),
        new Row("kill --signal BLA web", 2, "'BLA' is not a signal"),
        new Row("scale shop/api", 2, "write for example shop/api=3"),
        // things that are not there
        new Row("up absent.yml", 2, "file 'absent.yml' not found"),
        new Row("up bad.yml", 2, "bad.yml:2:", "not YAML", "nothing was changed"),
        new Row("status none", 2, "deployment 'none' not found", "zlayer status"),
        new Row("down none", 2, "deployment 'none' not found", "zlayer status"),
        new Row("logs shop/apy", 2, "did you mean 'shop/api'?"),
        new Row("exec shop/api/9 true", 2, "container 'shop/api/9' not found", "ps --all"),
        new Row("exec shop/api true", 2, "'shop/api' means several", "shop/api/1, shop/api/2"),
        new Row("inspect none", 2, "container 'none' not found"),
        new Row("rm none", 2, "container 'none' not found"),
        new Row("cp web:/none .", 2, "path '/none' not found", "no such file or directory"),
        new Row("cp none.txt web:/tmp", 2, "file 'none.txt' not found"),
        new Row("job run shop/none", 2, "job 'shop/none' not found"),
        new Row("job run none", 2, "write deployment/job"),
        new Row("job logs none", 2, "job 'none' not found", "write deployment/job"),
        new Row("cron run shop/none", 2, "schedule 'shop/none' not found"),
        new Row("image inspect none", 2, "image 'none:latest' not found", "zlayer pull"),
        new Row("run --pull never none:1", 2, "image 'none:1' not found", "never"),
        new Row(
            "run --rm -v /missing/dir:/x bb:1 true",
            2,
            "/missing/dir cannot be mounted: there is no such file or directory",
            "create it first"),
        new Row("volume rm none", 2, "volume 'none' not found"),
        new Row("volume inspect ../etc", 2, "'../etc' is not a name", "without '/'"),
        new Row("secret set shop/db", 2, "'shop/db' is not a secret", "--deployment NAME"),
        new Row("events --audit --tail 3", 2, "--audit goes with --since and --json only"),
        new Row("secret rm none", 2, "secret 'none' not found"),
        new Row("network rm none", 2, "network 'none' not found", "network ls"),
        new Row("revisions none", 2, "deployment 'none' not found", "zlayer status"),
        new Row("rm -f none", 0, "container 'none' not found, nothing to remove"),
        new Row("secret set empty", 2, "secret 'empty' would be empty"),
        new Row("rollback shop", 2, "an earlier revision", "never changed"),
        new Row("rollback shop 7", 2, "revision 7 of deployment 'shop' not found"),
        // things that are in the way
        new Row("run --name web bb:1 true", 2, "the name 'web' is taken"),
        new Row("run -p " + port + ":80 bb:1 true", 4, "port " + port + "/tcp is already"),
        new Row("rename frozen web", 2, "the name 'web' is taken"),
        new Row("rm web", 2, "container web is running", "stop it first"),
        new Row("exec frozen true", 2, "container frozen is paused: unpause it first"),
        new Row("image rm bb:1", 2, "in use by"),
        new Row("network rm default", 2, "the default network cannot be removed"),
        new Row("scale shop/api=3", 2, "its file fixes the number to 2", "mode: manual"),
        // what the workload cannot do
        new Row("run --rm bb:1 nosuch", 127, "\"nosuch\": executable file not found"),
        new Row("run --rm bb:1 /nosuch", 127, "/nosuch"),
        new Row("run -d --rm bb:1 /etc", 126, "/etc"),
        new Row("exec web nosuch", 127, "nosuch"),
        new Row("exec web /etc", 126, "/etc"),
        new Row("run --rm --user nobody9 bb:1 true", 2, "'nobody9' is not in the image's"),
        new Row("run --rm --read-only bb:1 touch /x", 1, "Read-only file system"),
        // what others cannot do
        new Row("pull 127.0.0.1:1/x:1", 4, "cannot pull image", "connection refused"),
        new Row(
            "run --rm --platform linux/s390x bb:1 true",
            5,
            "linux/s390x",
            "no runtime",
            "an image for the architecture"));
  }

  @ParameterizedTest
  @MethodSource("mistakes")
  void aMistakeIsToldWithWhatToDo(Row row) {
    CliFixture.Result result = daemon.cli().run(row.typed().split(" "));

    assertThat(result.err()).contains(row.words()).doesNotContain("\tat ").doesNotContain("body:");
    assertThat(result.code()).as(result.err()).isEqualTo(row.code());
  }

  @Test
  void aStartThatFailsIsToldOnceAndLeavesNothing() {
    CliFixture.Result result = daemon.cli().run("run", "--name", "gone", "bb:1", "nosuch");

    assertThat(result.err().split("create failed", -1)).hasSizeLessThanOrEqualTo(2);
    assertThat(daemon.ok("ps", "--all")).doesNotContain("gone");
  }

  @Test
  void whatIsToldOfAFailingDeploymentIsNoJson() throws IOException {
    Files.writeString(
        directory.resolve("lost.yml"),
        SHOP.replace("shop", "lost").replace("[sleep, \"1000\"]", "[nosuch]"));
    CliFixture.Result up = daemon.cli().run("up", "lost.yml", "--wait", "30s");
    CliFixture.Result down = daemon.cli().run("down", "lost");

    assertThat(up.code()).isEqualTo(3);
    assertThat(up.err()).contains("\"nosuch\": executable file not found").doesNotContain("{");
    assertThat(down.code()).isZero();
    assertThat(down.err()).doesNotContain("nosuch").contains("deployment 'lost' is removed");
  }

  @Test
  void anotherUserIsToldWhatIsMissingAndSeesNothing() throws Exception {
    String nobody = String.valueOf(Stranger.USER);
    Map<String, String> env = Map.of("ZLAYER_SOCKET", daemon.dataDirectory() + "/run/zlayer.sock");
    CommandResult refused = Stranger.in(directory).zlayer(nobody, env, "ps");
    assertThat(refused.stderr()).contains("permission denied on", "the group that owns the socket");
    assertThat(refused.code()).isEqualTo(1);
    CommandResult up =
        Stranger.in(directory).zlayer(nobody, env, "up", directory + "/shop.zlayer.yml");
    assertThat(up.stderr()).contains("permission denied on", "the group that owns the socket");
    Path data = daemon.dataDirectory();
    for (String name : List.of("state.db", "daemon.log", "secret.key")) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(data.resolve(name))))
          .as(name)
          .isEqualTo("rw-------");
    }
    assertThat(Stranger.run(nobody, env, List.of("ls", data + "/volumes")).stderr())
        .contains("Permission denied");
  }
}
