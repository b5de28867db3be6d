package dev.zlayer.cli.command.container;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Verbs that people know from Docker and use less often: create, update, port, commit, ... */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DockerVerbsIT {
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

  private static String ok(String... arguments) {
    return daemon.ok(arguments);
  }

  private static CliFixture.Result refused(int code, String... arguments) {
    CliFixture.Result result = cli.run(arguments);
    assertThat(result.code()).as(result.out() + result.err()).isEqualTo(code);
    return result;
  }

  private static String state(String name) {
    return daemon.json("inspect", name).at("container").at("state").string().orElse("");
  }

  @Test
  void aCreatedContainerRunsOnceItIsStarted() throws Exception {
    Path id = directory.resolve("created.id");
    assertThat(ok("create", "--name", "made", "--cidfile", id.toString(), "bb:1", "echo", "hello"))
        .isEqualTo("made\n");

    assertThat(state("made")).isEqualTo("created");
    assertThat(Files.readString(id)).startsWith("made-").isNotBlank();
    assertThat(ok("ps")).doesNotContain("made");
    assertThat(ok("logs", "made")).isEmpty();
    ok("start", "made");
    ok("wait", "made");
    assertThat(ok("logs", "made")).isEqualTo("hello\n");
    assertThat(refused(2, "create", "--name", "made", "bb:1").err())
        .contains("the name 'made' is taken");
    assertThat(refused(2, "create", "--link", "x", "bb:1").err()).contains("'--link'");
  }

  @Test
  void aCreatedContainerWithRmIsRemovedAfterItsExit() {
    ok("create", "--rm", "--name", "once", "bb:1", "true");
    assertThat(state("once")).isEqualTo("created");

    ok("start", "once");

    Awaitility.await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(ok("ps", "--all", "--quiet")).isEmpty());
  }

  @Test
  void limitsOfARunningContainerChangeAtOnceAndStay() {
    ok("run", "-d", "--name", "up", "--memory", "64m", "bb:1", "sleep", "1000");

    assertThat(ok("update", "--memory", "128m", "--cpus", "0.5", "--pids-limit", "77", "up"))
        .isEqualTo("up\n");

    assertThat(limit("up", "memory", "memory.max", "memory.limit_in_bytes"))
        .isEqualTo(Long.toString(128 << 20));
    assertThat(limit("up", "cpu", "cpu.max", "cpu.cfs_quota_us")).startsWith("50000");
    assertThat(limit("up", "pids", "pids.max", "pids.max")).isEqualTo("77");
    ok("restart", "-t", "0s", "up");
    assertThat(limit("up", "memory", "memory.max", "memory.limit_in_bytes"))
        .isEqualTo(Long.toString(128 << 20));
    assertThat(daemon.json("inspect", "up").at("resources").at("memory_bytes").integer())
        .contains(128L << 20);

    assertThat(refused(2, "update", "up").err()).contains("nothing to change");
    assertThat(refused(2, "update", "--memory", "1k", "up").err()).contains("6 MiB");
    assertThat(refused(2, "update", "--memory", "1g", "nope").err()).contains("'nope' not found");
  }

  /** What the kernel has, with control groups of version 2 or 1. */
  private static String limit(String name, String controller, String unified, String legacy) {
    long pid = daemon.json("inspect", name).at("container").at("pid").integer().orElseThrow();
    try {
      for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/cgroup"))) {
        String[] parts = line.split(":", 3);
        if (List.of(parts[1].split(",")).contains(controller)) {
          Path group = Path.of("/sys/fs/cgroup", controller, parts[2]);
          return Files.readString(group.resolve(legacy)).strip();
        }
      }
      String own = Files.readString(Path.of("/proc/" + pid + "/cgroup")).strip();
      Path group = Path.of("/sys/fs/cgroup", own.substring(own.lastIndexOf("::") + 2));
      return Files.readString(group.resolve(unified)).strip();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void theRestartPolicyOfARunningContainerChanges() {
    ok("run", "-d", "--name", "again", "bb:1", "sh", "-c", "echo began; sleep 1000");
    ok("update", "--restart", "always", "again");
    assertThat(restartLabel("again")).isEqualTo("always");

    daemon.kill(); // the next daemon knows the changed policy as well
    daemon.restart();
    ok("kill", "again");
    Awaitility.await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> assertThat(ok("logs", "again").lines()).containsExactly("began", "began"));

    ok("update", "--restart", "no", "again");
    ok("kill", "again");
    refused(137, "wait", "again");
    assertThat(restartLabel("again")).isEmpty();
    ok("run", "-d", "--rm", "--name", "short", "bb:1", "sleep", "1000");
    assertThat(refused(2, "update", "--restart", "always", "short").err())
        .contains("removed after its end");
    assertThat(refused(2, "update", "--restart", "often", "short").err()).contains("'often'");
  }

  private static String restartLabel(String name) {
    return daemon
        .json("inspect", name)
        .at("container")
        .at("labels")
        .at("com.zlayer.restart")
        .string()
        .orElse("");
  }

  @Test
  void publishedPortsAreListed() {
    ok(
        "run",
        "-d",
        "--name",
        "ports",
        "-p",
        "127.0.0.1::80",
        "-p",
        "127.0.0.1::53/udp",
        "bb:1",
        "sleep",
        "1000");

    assertThat(ok("port", "ports").lines())
        .hasSize(2)
        .anyMatch(line -> line.matches("80/tcp -> 127\\.0\\.0\\.1:[0-9]+"))
        .anyMatch(line -> line.matches("53/udp -> 127\\.0\\.0\\.1:[0-9]+"));
    assertThat(ok("port", "ports", "80")).matches("127\\.0\\.0\\.1:[0-9]+\n");
    assertThat(ok("port", "ports", "53/udp")).matches("127\\.0\\.0\\.1:[0-9]+\n");
    assertThat(refused(2, "port", "ports", "81").err())
        .contains("published port 81/tcp of container 'ports' not found");
  }

  @Test
  void changedFilesAreListedAndBecomeAnImage() {
    ok(
        "run",
        "-d",
        "--name",
        "work",
        "-e",
        "SECRET=1",
        "-v",
        "kept:/kept",
        "bb:1",
        "sh",
        "-c",
        "echo new > /made; mkdir /dir; echo deep > /dir/file; ln /made /dir/same;"
            + " rm -rf /etc; mkdir /etc; echo only > /etc/only; echo v > /kept/in-volume;"
            + " touch \"$(printf '/odd\\033[31m\\nA forged')\"; touch /done; sleep 1000");
    Awaitility.await()
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(cli.run("exec", "work", "ls", "/done").code()).isZero());

    assertThat(ok("container", "diff", "work").lines())
        .contains("A /made", "A /dir", "A /dir/file", "C /etc", "A /etc/only", "D /etc/passwd")
        .contains("A /odd\\u001b[31m\\u000aA forged")
        .doesNotContain("A forged")
        .noneMatch(line -> line.contains("in-volume") || line.contains("\033"));
    assertThat(
            ok(
                "commit",
                "--author",
                "Ada",
                "--message",
                "with files",
                "--change",
                "CMD [\"cat\", \"/dir/same\"]",
                "-c",
                "ENV ADDED=yes",
                "work",
                "made:1"))
        .startsWith("made:1 sha256:");

    assertThat(state("work")).as("it goes on").isEqualTo("running");
    assertThat(ok("run", "--rm", "made:1")).isEqualTo("new\n");
    assertThat(ok("run", "--rm", "made:1", "sh", "-c", "ls /etc; echo $ADDED$SECRET; ls /kept"))
        .contains("only")
        .contains("yes\n")
        .doesNotContain("passwd")
        .doesNotContain("in-volume")
        .doesNotContain("yes1");
    assertThat(ok("image", "history", "made:1")).contains("zlayer commit").contains("with files");
    ok("image", "fsck");
    ok("rm", "-f", "work");
    assertThat(ok("run", "--rm", "made:1")).as("without its container").isEqualTo("new\n");
    assertThat(refused(2, "commit", "nope", "made:2").err()).contains("'nope' not found");
    ok("create", "--name", "idle", "bb:1", "true");
    assertThat(refused(2, "commit", "-c", "RUN x", "idle", "made:2").err())
        .contains("'RUN' is not one of CMD");
    assertThat(ok("commit", "idle", "made:2")).as("nothing changed").startsWith("made:2 sha256:");
    assertThat(ok("run", "--rm", "made:2", "echo", "same")).isEqualTo("same\n");
  }

  @Test
  void aContainerIsExportedAndImportedWithChanges() throws Exception {
    ok(
        "run",
        "--name",
        "out",
        "-v",
        "outside:/volume",
        "bb:1",
        "sh",
        "-c",
        "echo text > /file; echo v > /volume/in-volume; rm /etc/passwd");
    Path archive = directory.resolve("out.tar");

    ok("export", "-o", archive.toString(), "out");

    List<String> names =
        Processes.run(Command.of("tar", "-tf", archive.toString()), Deadline.after(LIMIT))
            .stdout()
            .lines()
            .toList();
    assertThat(names).contains("file").anyMatch(name -> name.startsWith("bin/"));
    assertThat(names).noneMatch(name -> name.contains("in-volume") || name.contains(".wh."));
    assertThat(names).doesNotContain("etc/passwd");
    ok("image", "import", "--change", "CMD [\"cat\", \"/file\"]", archive.toString(), "in:1");
    assertThat(ok("run", "--rm", "in:1")).isEqualTo("text\n");
    assertThat(refused(2, "image", "import", "-c", "CMD", archive.toString(), "in:2").err())
        .contains("CMD needs a value");
    assertThat(cli.run("image", "inspect", "in:2").code()).isEqualTo(2);

    ok("run", "-d", "--name", "live", "bb:1", "sleep", "1000");
    CliFixture.Result piped = cli.run("export", "live");
    assertThat(piped.code()).isZero();
    assertThat(piped.out()).contains("bin/busybox");
  }

  @Test
  void volumesAreCreatedAndAnonymousOnesGoWithTheirContainer() throws Exception {
    assertThat(ok("volume", "create", "fresh", "other")).isEqualTo("fresh\nother\n");
    ok("volume", "create", "fresh");
    assertThat(ok("volume", "ls", "--quiet").lines()).contains("fresh", "other");
    assertThat(refused(2, "volume", "create", "no/slash").err()).contains("is not a volume name");
    assertThat(refused(2, "volume", "create", "--driver=nfs", "x").err())
        .contains("volumes are plain directories");

    ok(
        "run",
        "--name",
        "uses",
        "-v",
        "fresh:/etc",
        "-v",
        "/anonymous",
        "bb:1",
        "cat",
        "/etc/passwd");
    Path anonymous = daemon.dataDirectory().resolve("volumes/.anonymous");
    assertThat(children(anonymous)).hasSize(1);
    ok("rm", "-v", "uses");
    assertThat(children(anonymous)).isEmpty();
    assertThat(ok("volume", "ls", "--quiet").lines()).contains("fresh");
    ok("volume", "rm", "fresh", "other");
  }

  private static List<Path> children(Path of) throws IOException {
    try (var all = Files.list(of)) {
      return all.toList();
    }
  }

  @Test
  void networksAreCreatedAndInspected() {
    assertThat(ok("network", "create", "back")).isEqualTo("back\n");
    assertThat(refused(2, "network", "create", "back").err())
        .contains("network 'back' exists already");
    assertThat(refused(2, "network", "create", "--driver", "macvlan", "x").err())
        .contains("every network is a bridge");
    assertThat(refused(2, "network", "create", "--gateway", "10.0.0.1", "x").err())
        .contains("needs a subnet");
    ok("run", "-d", "--name", "member", "--network", "back", "bb:1", "sleep", "1000");

    Json network = daemon.json("network", "inspect", "back");
    assertThat(network.at("gateway").string()).isPresent();
    Json member = network.at("containers").items().getFirst();
    assertThat(member.at("name").string()).contains("member");
    assertThat(member.at("ip").string())
        .isEqualTo(daemon.json("inspect", "member").at("container").at("ip").string());
    assertThat(refused(2, "network", "inspect", "nope").err()).contains("'nope' not found");

    ok("run", "-d", "--name", "alone", "bb:1", "sleep", "1000");
    ok("network", "connect", "--alias", "friend", "back", "alone");
    String ip = member.at("ip").string().orElseThrow();
    assertThat(ok("exec", "alone", "nslookup", "member")).contains(ip);
    assertThat(ok("exec", "member", "nslookup", "friend")).contains("Name:");
    assertThat(refused(2, "network", "connect", "back", "alone").err())
        .contains("connected to network 'back' already");
    daemon.kill();
    daemon.restart();
    assertThat(daemon.json("network", "inspect", "back").at("containers").items()).hasSize(2);
    assertThat(ok("exec", "alone", "nslookup", "member")).contains(ip);
    ok("network", "disconnect", "back", "alone");
    assertThat(daemon.json("network", "inspect", "back").at("containers").items()).hasSize(1);
    assertThat(refused(2, "network", "connect", "nope", "alone").err()).contains("'nope'");
    ok("rm", "-f", "member", "alone");
    ok("network", "rm", "back");
  }

  @Test
  void severalContainersAreWaitedFor() {
    ok(
        "run",
        "-d",
        "--name",
        "first",
        "bb:1",
        "sh",
        "-c",
        "while [ ! -e /go ]; do sleep 0.1; done");
    ok("run", "-d", "--name", "second", "bb:1", "sh", "-c", "exit 4");
    ok("run", "-d", "--name", "third", "bb:1", "sh", "-c", "exit 5");
    ok("exec", "first", "touch", "/go");

    CliFixture.Result all = refused(4, "wait", "first", "second", "third");

    assertThat(all.out())
        .isEqualTo(
            "first exited with code 0\nsecond exited with code 4\nthird exited with code 5\n");
    Json json = JsonText.parse(refused(4, "wait", "--json", "first", "second").out());
    assertThat(json.items().get(1).at("answer").at("code").integer()).contains(4L);
    assertThat(refused(2, "wait", "first", "nope").err()).contains("'nope' not found");
  }
}
