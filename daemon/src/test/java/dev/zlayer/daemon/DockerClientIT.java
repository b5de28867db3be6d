package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.CommandResult;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Docker's own command line on the agent's socket. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.DOCKERD})
class DockerClientIT {
  private static final String IMAGE = Node.IMAGE;

  @RegisterExtension static final DockerNode node = new DockerNode();
  private static final DockerCli docker = node.docker();

  @Test
  void aRunPassesOutputAndTheExitCodeAndLeavesNothing() throws Exception {
    CommandResult ran =
        docker.run("run", "--rm", IMAGE, "sh", "-c", "echo out; echo err >&2; exit 7");

    assertThat(ran.code()).isEqualTo(7);
    assertThat(ran.stdout()).isEqualTo("out\n");
    assertThat(ran.stderr()).isEqualTo("err\n");
    assertThat(docker.out("ps", "-aq")).isEmpty();
  }

  @Test
  void aCommandThatCannotRunHasTheExitCodeOfAShell() throws Exception {
    assertThat(docker.run("run", "--rm", IMAGE, "no-such-command").code()).isEqualTo(127);
    assertThat(docker.run("run", "--rm", IMAGE, "/etc").code()).isEqualTo(126);
    assertThat(docker.out("ps", "-aq")).isEmpty();
  }

  @Test
  void inputReachesTheProcessAndItsEndToo() throws Exception {
    assertThat(docker.outOf("one\ntwo\n", "run", "-i", "--rm", IMAGE, "wc", "-l")).isEqualTo("2");

    String large = "x".repeat(300_000) + "\n";
    assertThat(docker.outOf(large, "run", "-i", "--rm", IMAGE, "cat")).hasSize(300_000);
  }

  @Test
  void aTerminalIsATerminal() throws Exception {
    CommandResult ran = docker.onTerminal("", "run", "--rm", "-t", IMAGE, "sh", "-c", "tty");

    assertThat(ran.code()).isZero();
    assertThat(ran.stdout()).contains("/dev/pts/").contains("\r\n");
  }

  @Test
  void aFurtherProcessRunsInsideWithAndWithoutATerminal() throws Exception {
    docker.out("run", "-d", "--name", "host", IMAGE, "sleep", "300");

    CommandResult ran = docker.run("exec", "host", "sh", "-c", "echo in; echo bad >&2; exit 3");
    assertThat(ran.code()).isEqualTo(3);
    assertThat(ran.stdout()).isEqualTo("in\n");
    assertThat(ran.stderr()).isEqualTo("bad\n");
    assertThat(docker.outOf("text", "exec", "-i", "host", "cat")).isEqualTo("text");
    assertThat(docker.onTerminal("", "exec", "-t", "host", "tty").stdout()).contains("/dev/pts/");
    assertThat(docker.out("exec", "-e", "A=b", "-w", "/tmp", "host", "sh", "-c", "echo $A $PWD"))
        .isEqualTo("b /tmp");
    docker.out("exec", "-d", "host", "sh", "-c", "echo later > /tmp/later");
    assertThat(
            docker.out(
                "exec",
                "host",
                "sh",
                "-c",
                "while ! [ -s /tmp/later ]; do :; done; cat /tmp/later"))
        .isEqualTo("later");
    assertThat(docker.run("exec", "host", "no-such-command").code()).isEqualTo(127);
  }

  @Test
  void outputIsFollowedAndCutAsAsked() throws Exception {
    docker.out(
        "run",
        "-d",
        "--name",
        "talker",
        IMAGE,
        "sh",
        "-c",
        "echo b >&2; echo a; echo c; exec sleep 300");
    Process follow = docker.start("logs", "-f", "talker");
    try (BufferedReader lines = follow.inputReader(StandardCharsets.UTF_8)) {
      assertThat(lines.readLine()).isEqualTo("a");
      assertThat(lines.readLine()).isEqualTo("c");
      docker.out("kill", "talker");
      assertThat(lines.readLine()).isNull();
      assertThat(follow.waitFor(10, TimeUnit.SECONDS)).isTrue();
    } finally {
      follow.destroyForcibly();
    }

    assertThat(docker.out("logs", "-t", "talker").lines().toList().getLast())
        .matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{9}Z c");
    CommandResult tail = docker.run("logs", "--tail", "1", "talker");
    assertThat(tail.stdout() + tail.stderr()).isIn("c\n", "b\n"); // the streams race each other
    assertThat(docker.run("logs", "talker").stderr()).isEqualTo("b\n");
    assertThat(docker.out("logs", "--since", "2100-01-01T00:00:00Z", "talker")).isEmpty();
  }

  @Test
  void waitingReturnsTheExitCode() throws Exception {
    docker.out("run", "-d", "--name", "short", IMAGE, "sh", "-c", "exit 5");

    assertThat(docker.out("wait", "short")).isEqualTo("5");
    assertThat(docker.out("start", "short")).isEqualTo("short");
    assertThat(docker.run("start", "-a", "short").code()).isEqualTo(5);
  }

  @Test
  void filesAreCopiedInAndOut(@TempDir Path dir) throws Exception {
    docker.out("create", "--name", "files", IMAGE, "sleep", "300");
    Files.writeString(dir.resolve("one"), "first");
    Files.createDirectories(dir.resolve("tree/deep"));
    Files.writeString(dir.resolve("tree/deep/two"), "second");

    docker.out("cp", dir.resolve("one").toString(), "files:/tmp/one");
    docker.out("cp", dir.resolve("tree").toString(), "files:/tmp/");
    docker.out("start", "files");
    assertThat(docker.out("exec", "files", "cat", "/tmp/one", "/tmp/tree/deep/two"))
        .isEqualTo("firstsecond");
    docker.out("cp", "files:/tmp/tree", dir.resolve("back").toString());
    assertThat(dir.resolve("back/deep/two")).hasContent("second");
    docker.out("cp", "files:/tmp/tree/.", dir.resolve("content").toString());
    assertThat(dir.resolve("content/deep/two")).hasContent("second");
    CommandResult absent = docker.run("cp", "files:/no/such", dir.toString());
    assertThat(absent.code()).isEqualTo(1);
    assertThat(absent.stderr()).contains("/no/such"); // in words that differ between versions

    assertThat(docker.out("diff", "files").lines()).contains("A /tmp/one", "A /tmp/tree");
    Path exported = dir.resolve("root.tar");
    docker.out("export", "-o", exported.toString(), "files");
    assertThat(Files.size(exported)).isGreaterThan(100_000);
  }

  @Test
  void listingsAreFiltered() throws Exception {
    String first = docker.out("run", "-d", "--name", "one", "-l", "team=a", IMAGE, "sleep", "300");
    docker.out("run", "-d", "--name", "two", "-l", "team=b", "-l", "x", IMAGE, "sleep", "300");
    docker.out("create", "--name", "three", IMAGE);

    assertThat(names("--filter", "label=team=a")).isEqualTo("one");
    assertThat(names("--filter", "label=team", "--filter", "label=x")).isEqualTo("two");
    assertThat(names("--filter", "name=tw")).isEqualTo("two");
    assertThat(names("--filter", "id=" + first.substring(0, 8))).isEqualTo("one");
    assertThat(names("-a", "--filter", "status=created")).isEqualTo("three");
    assertThat(names("-a").lines()).containsExactly("three", "two", "one");
    assertThat(names("-n", "1")).isEqualTo("three");
    assertThat(names("--filter", "ancestor=" + IMAGE).lines()).containsExactly("two", "one");
    assertThat(names("-a", "--filter", "before=two")).isEqualTo("one");
    assertThat(docker.run("ps", "--filter", "colour=red").stderr()).contains("invalid filter");
    assertThat(docker.out("ps", "--no-trunc", "-q").lines()).contains(first);
    assertThat(docker.out("ps", "-s", "--format", "{{.Size}}")).contains("virtual");
  }

  private static String names(String... options) throws Exception {
    var words = new java.util.ArrayList<>(java.util.List.of("ps", "--format", "{{.Names}}"));
    words.addAll(java.util.List.of(options));
    return docker.out(words.toArray(String[]::new));
  }

  @Test
  void inspectShowsWhatWasAskedFor() throws Exception {
    String id =
        docker.out(
            "run",
            "-d",
            "--name",
            "asked",
            "-e",
            "SECRET=s",
            "-l",
            "team=a",
            "-p",
            "127.0.0.1::80",
            "--memory",
            "64m",
            "--cpus",
            "0.5",
            "--restart",
            "on-failure:3",
            "--hostname",
            "h",
            "--tmpfs",
            "/scratch:size=1m",
            "-v",
            "/tmp:/host:ro",
            "--cap-add",
            "NET_ADMIN",
            "--ulimit",
            "nofile=100:200",
            IMAGE,
            "sleep",
            "300");
    Json all = JsonText.parse(docker.out("inspect", "asked")).items().getFirst();

    assertThat(all.at("Id").string())
        .contains(id)
        .hasValueSatisfying(text -> assertThat(text).hasSize(64));
    assertThat(all.at("Name").string()).contains("/asked");
    assertThat(all.at("State").at("Running").bool()).contains(true);
    assertThat(all.at("State").at("Pid").integer())
        .hasValueSatisfying(pid -> assertThat(pid).isPositive());
    assertThat(all.at("Config").at("Env").strings()).contains("SECRET=s");
    assertThat(all.at("Config").at("Labels").stringMap()).containsEntry("team", "a");
    assertThat(all.at("Config").at("Labels").members().keySet())
        .noneMatch(name -> name.startsWith("com.zlayer."));
    assertThat(all.at("Config").at("Hostname").string()).contains("h");
    Json host = all.at("HostConfig");
    assertThat(host.at("Memory").integer()).contains(64L << 20);
    assertThat(host.at("NanoCpus").integer()).contains(500_000_000L);
    assertThat(host.at("RestartPolicy").at("Name").string()).contains("on-failure");
    assertThat(host.at("RestartPolicy").at("MaximumRetryCount").integer()).contains(3L);
    assertThat(host.at("CapAdd").strings()).singleElement().asString().endsWith("NET_ADMIN");
    assertThat(all.at("Mounts").items())
        .anyMatch(mount -> mount.at("Destination").string().orElse("").equals("/host"));
    Json network = all.at("NetworkSettings");
    assertThat(network.at("Networks").at("bridge").at("IPAddress").string())
        .isEqualTo(network.at("IPAddress").string());
    assertThat(network.at("Ports").at("80/tcp").items()).hasSize(1);
    assertThat(docker.out("port", "asked")).startsWith("80/tcp -> 127.0.0.1:");
    assertThat(docker.out("exec", "asked", "hostname")).isEqualTo("h");
    assertThat(docker.out("inspect", "-f", "{{.State.Status}}", id.substring(0, 10)))
        .isEqualTo("running");
  }

  @Test
  void aContainerIsRenamedChangedPausedAndEnded() throws Exception {
    String[] listing = {"ps", "--format", "{{.Names}} {{.Networks}} {{.State}}"};
    docker.out("run", "-d", "--name", "first", IMAGE, "sleep", "300");
    assertThat(docker.out(listing)).isEqualTo("first bridge running");

    docker.out("rename", "first", "second");
    assertThat(docker.run("inspect", "first").code()).isEqualTo(1);
    docker.out("network", "create", "listed");
    docker.out("network", "connect", "listed", "second");
    assertThat(docker.out(listing)).matches("second (bridge,listed|listed,bridge) running");
    docker.out("network", "disconnect", "listed", "second");
    docker.out("network", "rm", "listed");
    docker.out("update", "--memory", "32m", "--memory-swap", "32m", "second");
    assertThat(docker.out("inspect", "-f", "{{.HostConfig.Memory}}", "second"))
        .isEqualTo("33554432");
    docker.out("pause", "second");
    assertThat(docker.out("ps", "--format", "{{.Status}}")).contains("(Paused)");
    assertThat(docker.out(listing)).isEqualTo("second bridge paused");
    assertThat(docker.run("exec", "second", "true").stderr()).contains("is paused");
    docker.out("unpause", "second");
    assertThat(docker.out("top", "second")).contains("sleep 300");
    assertThat(docker.out("stats", "--no-stream", "second")).contains("/ 32MiB");
    docker.out("kill", "-s", "KILL", "second");
    assertThat(docker.out("inspect", "-f", "{{.State.ExitCode}}", "second")).isEqualTo("137");
    assertThat(docker.run("kill", "second").stderr()).contains("is not running");
    docker.out("restart", "-t", "0", "second");
    docker.out("stop", "-t", "0", "second");
    assertThat(docker.out("ps", "-q")).isEmpty();
    assertThat(docker.run("rm", "no-such").stderr()).contains("No such container: no-such");
    docker.out("start", "second");
    assertThat(docker.run("rm", "second").stderr()).contains("container is running");
    docker.out("rm", "-f", "second");
    assertThat(docker.out("ps", "-aq")).isEmpty();
  }

  @Test
  void aNameThatIsTakenIsRefusedInDockersWords() throws Exception {
    docker.out("create", "--name", "taken", IMAGE);

    assertThat(docker.run("create", "--name", "taken", IMAGE).stderr())
        .contains("The container name \"/taken\" is already in use by container");
    assertThat(docker.run("create", "--pull", "never", IMAGE + "-absent").stderr())
        .contains("No such image");
    String named = docker.out("create", IMAGE);
    assertThat(docker.out("inspect", "-f", "{{.Name}}", named)).matches("/[a-z]+_[a-z]+");
    assertThat(docker.out("container", "prune", "-f")).contains(named);
  }

  @Test
  void whatCannotBeHonouredIsRefusedByItsName() throws Exception {
    assertThat(docker.run("create", "--domainname", "x", IMAGE).stderr()).contains("Domainname");
    assertThat(docker.run("create", "--log-driver", "syslog", IMAGE).stderr())
        .contains("LogConfig.Type");
    assertThat(docker.run("create", "--link", "a:b", IMAGE).stderr())
        .contains("could not get container for a: No such container: a");
    assertThat(docker.run("create", "--network", "absent", IMAGE).stderr())
        .contains("network absent not found");
    assertThat(docker.out("ps", "-aq")).isEmpty();
  }

  @Test
  void attachingFollowsARunningContainer() throws Exception {
    docker.out(
        "run", "-d", "-i", "--name", "cat", IMAGE, "sh", "-c", "read line; echo got $line; exit 4");

    CommandResult attached =
        docker.run("hello\n".getBytes(StandardCharsets.UTF_8), "attach", "cat");

    assertThat(attached.stdout()).isEqualTo("got hello\n");
    assertThat(attached.code()).isEqualTo(4);
  }
}
