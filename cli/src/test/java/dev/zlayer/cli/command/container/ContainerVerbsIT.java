package dev.zlayer.cli.command.container;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Single containers as a person handles them: every verb, with a real daemon. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class ContainerVerbsIT {
  private static final String TICKS =
      "i=0; while true; do echo tick $i; i=$((i+1)); sleep 0.2; done";

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
  void volumesAreListedWithTheirSizesAndPrunedByName() {
    ok("run", "--rm", "-v", "sized:/data", "bb:1", "sh", "-c", "head -c 5000 /dev/zero > /data/f");

    assertThat(ok("volume", "ls").lines())
        .anyMatch(line -> line.startsWith("sized ") && line.contains(HumanUnits.bytes(5000)));
    assertThat(ok("volume", "ls", "--quiet").lines()).contains("sized");
    assertThat(daemon.json("volume", "inspect", "sized").at("size").integer()).contains(5000L);
    assertThat(ok("volume", "prune"))
        .contains("removed sized\n")
        .contains("reclaimed " + HumanUnits.bytes(5000));
  }

  @Test
  void aLineOfAnOddUserKeepsNobodyElseFromUsingTheImage() {
    byte[] image =
        ImageMaker.busybox()
            .layer(
                TarEntry.directory("etc"),
                TarEntry.file(
                    "etc/passwd",
                    "root:x:0:0::/:/bin/sh\nodd:x:4294967294:4294967294::/:/bin/sh\n"
                        + "app:x:7:8::/:/bin/sh\n"))
            .make()
            .dockerArchive("odd:1");
    assertThat(cli.runWithInput(image, "image", "load").code()).isZero();

    assertThat(ok("run", "--rm", "odd:1", "id", "-u")).isEqualTo("0\n");
    assertThat(ok("run", "--rm", "--user", "app", "odd:1", "sh", "-c", "id -u; id -g"))
        .isEqualTo("7\n8\n");
    CliFixture.Result refused = cli.run("run", "--rm", "--user", "odd", "odd:1", "true");
    assertThat(refused.code()).isEqualTo(2);
    assertThat(refused.err())
        .contains("odd")
        .contains("4294967294")
        .contains("ids go up to 2147483647")
        .doesNotContain("\tat ");
    assertThat(ok("ps", "--all", "--quiet")).isEmpty();
  }

  @Test
  void containersShareAnEmptyVolume() {
    ok("run", "-d", "--name", "one", "-v", "up:/data", "bb:1", "sleep", "300");
    ok("run", "-d", "--name", "two", "-v", "up:/data", "bb:1", "sleep", "300");

    ok("exec", "one", "sh", "-c", "echo hello > /data/note");

    assertThat(ok("exec", "two", "cat", "/data/note")).isEqualTo("hello\n");
  }

  @Test
  void aRenamedContainerHasItsNewNameOnlyAndTheOldOneIsFree() {
    ok("run", "-d", "--name", "old", "bb:1", "sleep", "1000");
    ok("rename", "old", "new");

    assertThat(cli.run("inspect", "old").code()).isEqualTo(2);
    ok("run", "-d", "--name", "old", "bb:1", "sleep", "1000");
    assertThat(cli.run("run", "-d", "--name", "new", "bb:1", "true").err())
        .contains("the name 'new' is taken");
    assertThat(cli.run("rename", "old", "new").err()).contains("the name 'new' is taken");
    assertThat(ok("exec", "new", "echo", "there")).isEqualTo("there\n");
    ok("rm", "-f", "old");
    assertThat(daemon.json("ps", "--json").items())
        .extracting(one -> one.at("name").string().orElse(""))
        .containsExactly("new");
  }

  @Test
  void theForegroundShowsBothStreamsAndReturnsTheCode() {
    CliFixture.Result result =
        cli.run(
            "run",
            "--rm",
            "-e",
            "WHO=me",
            "bb:1",
            "sh",
            "-c",
            "echo to $WHO; echo bad >&2; exit 7");

    assertThat(result.out()).isEqualTo("to me\n");
    assertThat(result.err()).isEqualTo("bad\n");
    assertThat(result.code()).isEqualTo(7);
    assertThat(ok("ps", "--all", "--quiet")).isEmpty();

    CliFixture.Result piped =
        cli.runWithInput(
            "over\n".getBytes(StandardCharsets.UTF_8), "run", "--rm", "-i", "bb:1", "cat");
    assertThat(piped.out()).isEqualTo("over\n");
    assertThat(piped.code()).isZero();
  }

  @Test
  void whatCannotStartIsToldAndLeavesNothing() {
    CliFixture.Result result = cli.run("run", "bb:1", "no-such-program");

    assertThat(result.code()).isEqualTo(127);
    assertThat(result.err()).contains("no-such-program");
    assertThat(ok("ps", "--all", "--quiet")).isEmpty();
    assertThat(cli.run("run", "--pull", "never", "none:1").err()).contains("none:1");
  }

  @Test
  void aContainerLivesThroughAllVerbs() throws Exception {
    assertThat(ok("run", "-d", "--name", "life", "bb:1", "sh", "-c", TICKS)).isEqualTo("life\n");
    assertThat(ok("ps")).contains("life").contains("bb:1").contains("running");
    assertThat(daemon.json("inspect", "life").at("container").at("state").string())
        .contains("running");
    assertThat(daemon.json("inspect", "life").at("stop").at("grace").string())
        .as("Docker's, unless somebody says otherwise")
        .contains("PT10S");
    Awaitility.await() // it was started; its program may still be on its way
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(() -> assertThat(ok("top", "life")).contains("CMD").contains("sleep"));
    assertThat(ok("stats", "--no-stream", "life")).contains("CPU %").contains("life");

    CliFixture.Result executed =
        cli.run("exec", "-e", "A=b", "life", "sh", "-c", "echo $A; echo e >&2; exit 4");
    assertThat(executed.out()).isEqualTo("b\n");
    assertThat(executed.err()).isEqualTo("e\n");
    assertThat(executed.code()).isEqualTo(4);
    assertThat(cli.runWithInput("in".getBytes(), "exec", "-i", "life", "cat").out())
        .isEqualTo("in");
    for (String[] way : new String[][] {{"exec", "life"}, {"exec", "-i", "life"}}) {
      var words = new ArrayList<>(List.of(way));
      words.addAll(List.of("sh", "-c", "echo b; sleep 1000 & exit 5"));
      CliFixture.Result left = cli.run(words.toArray(String[]::new));
      assertThat(left.out()).as("a process that it left has its output").isEqualTo("b\n");
      assertThat(left.code()).isEqualTo(5);
    }

    assertThat(ok("pause", "life")).isEqualTo("life\n");
    assertThat(ok("ps")).contains("paused");
    ok("unpause", "life");
    ok("rename", "life", "other");
    assertThat(ok("logs", "--tail", "1", "other")).startsWith("tick ");
    ok("kill", "-s", "KILL", "other");
    assertThat(cli.run("wait", "other").code()).isEqualTo(137);
    ok("start", "other");
    ok("restart", "-t", "0s", "other");
    assertThat(cli.run("rm", "other").err()).contains("stop it first");
    ok("stop", "-t", "0s", "other");
    ok("rm", "other");

    CliFixture.Result gone = cli.run("inspect", "other");
    assertThat(gone.code()).isEqualTo(2);
    assertThat(gone.err()).contains("'other' not found").contains("zlayer ps --all");
    assertThat(ok("events")).contains("container.created").contains("container.removed");
    CliFixture.Result ahead = cli.run("events", "--since", "1000000");
    assertThat(ahead.code()).isZero();
    assertThat(ahead.err())
        .as("a number of a log that was replaced")
        .contains("some events after 1000000 are no longer kept; the oldest is 1");
  }

  @Test
  void filesGoInAndOut() throws Exception {
    ok("run", "-d", "--name", "files", "--network", "none", "bb:1", "sleep", "300");
    Files.createDirectories(directory.resolve("tree/sub"));
    Files.writeString(directory.resolve("tree/sub/a"), "deep");
    Files.createSymbolicLink(directory.resolve("tree/link"), Path.of("sub/a"));

    ok("cp", "tree", "files:/tmp");
    assertThat(ok("exec", "files", "cat", "/tmp/tree/link")).isEqualTo("deep");
    ok("cp", "tree", "files:/tmp/renamed");
    assertThat(ok("exec", "files", "cat", "/tmp/renamed/sub/a")).isEqualTo("deep");

    ok("cp", "files:/tmp/renamed", "back");
    assertThat(directory.resolve("back/sub/a")).hasContent("deep");
    assertThat(Files.readSymbolicLink(directory.resolve("back/link"))).hasToString("sub/a");
    ok("cp", "files:/etc/passwd", ".");
    assertThat(directory.resolve("passwd")).exists();

    byte[] tar =
        Processes.run(
                Command.of("tar", "-C", directory.toString(), "-c", "tree"),
                Deadline.after(Duration.ofSeconds(20)))
            .stdoutBytes();
    assertThat(cli.runWithInput(tar, "cp", "-", "files:/").code()).isZero();
    assertThat(ok("cp", "files:/tree/sub/a", "-")).contains("deep");

    assertThat(cli.run("cp", "files:/none", ".").code()).isEqualTo(2);
    assertThat(cli.run("cp", "none", "files:/tmp").err()).contains("no such file");
    assertThat(cli.run("cp", "a", "b").err()).contains("CONTAINER:PATH");
  }

  @Test
  void deepTreesAndHolesAreCopiedAndReadOnlyMountsAreNotWritten() throws Exception {
    Path host = Files.createDirectories(directory.resolve("host"));
    Files.writeString(host.resolve("file"), "of the host");
    Files.writeString(directory.resolve("file"), "overwritten");
    String script =
        "dd of=/holes bs=1 count=0 seek=50G 2>/dev/null; mkdir -p /deep/" + "d/".repeat(700);
    ok(
        "run",
        "-d",
        "--name",
        "deep",
        "--network",
        "none",
        "-v",
        host + ":/mnt:ro",
        "bb:1",
        "sh",
        "-c",
        script);
    cli.run("wait", "deep");

    ok("cp", "deep:/deep", "copied");
    assertThat(directory.resolve("copied" + "/d".repeat(700))).isDirectory();
    ok("cp", "deep:/holes", "copied/holes");
    assertThat(directory.resolve("copied/holes")).hasSize(50L << 30);
    RootedDirectory.removeTree(directory.resolve("copied")); // JUnit takes minutes for it

    CliFixture.Result refused = cli.run("cp", "file", "deep:/mnt/file");
    assertThat(refused.code()).isEqualTo(2);
    assertThat(refused.err()).contains("/mnt is read-only");
    assertThat(host.resolve("file")).hasContent("of the host");
  }

  /** No variable, descriptor or limit of the daemon reaches a container or what keeps it. */
  @Test
  void childrenInheritNothingOfTheAgent() throws Exception {
    String pid = daemon.json("daemon", "status", "--json").at("pid").integer().orElseThrow() + "";
    Path agent = Path.of("/proc", pid);
    assertThat(environment(agent)).as("there is something to inherit").contains("ZLAYER_DATA_DIR=");
    Files.writeString(agent.resolve("oom_score_adj"), "300");
    String look =
        "env; echo fds $(ls /proc/self/fd); echo oom $(cat /proc/self/oom_score_adj);"
            + " echo files $(ulimit -n) $(ulimit -Hn); echo end";
    ok("run", "-d", "--name", "clean", "bb:1", "sh", "-c", look + "; sleep 300");
    Awaitility.await().until(() -> ok("logs", "clean").contains("end"));

    String first = ok("logs", "clean");
    String further = ok("exec", "clean", "sh", "-c", look);
    for (String seen : List.of(first, further)) {
      assertThat(seen)
          .doesNotContain("ZLAYER_")
          .containsPattern("(?m)^fds 0 1 2 3$")
          .contains("oom 0\n");
    }
    long most = mostFiles(agent);
    assertThat(first).contains("files 1024 %d\n".formatted(most));
    assertThat(further)
        .containsPattern("files (1024%s) %d\n".formatted(runcMayRaise() ? "|" + most : "", most));
    List<ProcessHandle> monitors =
        ProcessHandle.allProcesses()
            .filter(process -> process.info().command().orElse("").endsWith("/conmon"))
            .filter(process -> commandLine(process).contains(directory.toString()))
            .toList();
    assertThat(monitors).isNotEmpty();
    List<String> own = descriptors(agent);
    assertThat(own).anyMatch(target -> target.startsWith("socket:"));
    for (ProcessHandle monitor : monitors) {
      Path conmon = Path.of("/proc", monitor.pid() + "");
      assertThat(environment(conmon)).doesNotContain("ZLAYER_");
      assertThat(descriptors(conmon)).doesNotContainAnyElementsOf(own);
    }
  }

  /** runc exec before 1.1.13 sets the limits while Go starts, which may raise the soft one. */
  private static boolean runcMayRaise() throws InterruptedException {
    String version =
        Processes.run(Command.of("runc", "--version"), Deadline.after(Duration.ofSeconds(20)))
            .stdout();
    return Pattern.compile("runc version 1\\.(0|1\\.(\\d|1[0-2])\\b)").matcher(version).find();
  }

  /** A daemon without the capability SYS_RESOURCE cannot give more than it has. */
  private static long mostFiles(Path agent) throws IOException {
    String status = Files.readString(agent.resolve("status"));
    String held =
        status.lines().filter(line -> line.startsWith("CapEff:")).findFirst().orElseThrow();
    boolean unlimited = (Long.parseUnsignedLong(held.split("\\s+")[1], 16) & 1 << 24) != 0;
    String limits = Files.readString(agent.resolve("limits"));
    String own =
        limits.lines().filter(line -> line.startsWith("Max open files")).findFirst().orElseThrow();
    return unlimited ? 524_288 : Math.min(524_288, Long.parseLong(own.split("\\s+")[4]));
  }

  private static String environment(Path process) throws IOException {
    return Files.readString(process.resolve("environ")).replace('\0', '\n');
  }

  private static String commandLine(ProcessHandle process) {
    try {
      return Files.readString(Path.of("/proc", process.pid() + "", "cmdline"));
    } catch (IOException _) {
      return ""; // it has ended
    }
  }

  /** What can be told from others of its kind: sockets, pipes and files of the daemon. */
  private static List<String> descriptors(Path process) throws IOException {
    var targets = new ArrayList<String>();
    try (var open = Files.newDirectoryStream(process.resolve("fd"))) {
      for (Path descriptor : open) {
        try {
          targets.add(Files.readSymbolicLink(descriptor).toString());
        } catch (IOException _) {
          // closed since it was listed
        }
      }
    }
    targets.removeIf(target -> target.startsWith("anon_inode:") || target.startsWith("/dev/"));
    return targets;
  }

  @Test
  void severalContainersAreFollowedBehindTheirNames() throws Exception {
    ok("run", "-d", "--name", "one", "--network", "none", "bb:1", "echo", "first");
    cli.run("wait", "one"); // lines of several containers are in the order of their times
    ok("run", "-d", "--name", "second", "--network", "none", "bb:1", "echo", "last");
    cli.run("wait", "second");

    assertThat(ok("logs", "one", "second")).isEqualTo("one    | first\nsecond | last\n");
    assertThat(ok("logs", "--no-prefix", "one", "second")).isEqualTo("first\nlast\n");
    assertThat(ok("logs", "-f", "one")).isEqualTo("first\n");
    CliFixture.Result typo = cli.run("logs", "secnd");
    assertThat(typo.code()).isEqualTo(2);
    assertThat(typo.err()).contains("did you mean 'second'?");
  }

  @Test
  void followingGoesOnWhenTheDaemonIsKilled() throws Exception {
    ok("run", "-d", "--name", "ticks", "--network", "none", "bb:1", "sh", "-c", TICKS);
    Path output = directory.resolve("followed");
    Process follower =
        Processes.start(
            Command.of(daemon.process("logs", "-f", "ticks")).withEnv(daemon.env()),
            output.toFile());
    try {
      awaitLine(output, "tick 3");
      daemon.kill();
      awaitLine(output, "the daemon does not answer");
      daemon.restart();
      int seen = (int) Files.lines(output).filter(line -> line.startsWith("tick")).count();
      awaitLine(output, "tick " + (seen + 3));
      ok("kill", "ticks");
      assertThat(follower.waitFor(30, TimeUnit.SECONDS)).isTrue();
    } finally {
      follower.destroyForcibly();
    }
    List<String> ticks =
        Files.readAllLines(output).stream().filter(line -> line.startsWith("tick")).toList();
    for (int i = 0; i < ticks.size(); i++) {
      assertThat(ticks.get(i)).as("every line once, in order").isEqualTo("tick " + i);
    }
  }

  private static void awaitLine(Path file, String text) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> Files.exists(file) && Files.readString(file).contains(text));
  }

  @Test
  void secretsAreSetAndNeverShown() {
    assertThat(
            cli.runWithInput("hush\n".getBytes(StandardCharsets.UTF_8), "secret", "set", "pw")
                .code())
        .isZero();
    assertThat(ok("secret", "ls")).contains("pw").doesNotContain("hush");
    ok("secret", "rm", "pw");
    assertThat(ok("secret", "ls")).doesNotContain("pw");
  }

  @Test
  void aSecretOfAServiceIsSetListedAndRemoved() {
    byte[] value = "hush".getBytes(StandardCharsets.UTF_8);
    CliFixture.Result set =
        cli.runWithInput(value, "secret", "set", "@web/key", "--deployment", "shop");
    assertThat(set.code()).as(set.err()).isZero();
    String fingerprint =
        daemon.json("secret", "ls", "--json").items().getFirst().at("fingerprint").string().get();
    assertThat(ok("secret", "ls", "--deployment", "shop"))
        .contains("@web/key")
        .contains("shop")
        .contains(fingerprint);
    assertThat(ok("secret", "ls", "--deployment", "other")).doesNotContain("key");
    assertThat(cli.run("secret", "rm", "@web/key").err()).contains("add --deployment NAME");
    ok("secret", "rm", "@web/key", "--deployment", "shop");
    assertThat(ok("secret", "ls")).doesNotContain("key");
  }

  @Test
  void aTakenPortIsToldWithTheNumber() {
    ok("run", "-d", "--name", "first", "-p", "127.0.0.1::80", "bb:1", "sleep", "300");
    String taken = ok("port", "first", "80").strip(); // with its address

    CliFixture.Result second = cli.run("run", "-d", "-p", taken + ":80", "bb:1", "sleep", "300");

    assertThat(second.code()).isNotZero();
    assertThat(second.err()).contains(taken.substring(taken.indexOf(':') + 1));
  }

  @Test
  void theInfoIsTheDaemons() {
    Json info = daemon.json("info", "--json");

    assertThat(info.at("data_dir").string()).contains(daemon.dataDirectory().toString());
    assertThat(ok("info")).contains("containers can run here");
    assertThat(ok("daemon", "status")).contains("running     yes");
    assertThat(cli.run("daemon", "start").err()).contains("already running");
  }

  private static long heard(Path output) throws IOException {
    return Files.readString(output).lines().filter("heard"::equals).count();
  }

  @Test
  void attachedWithoutATerminalItIsLeftByTheThirdInterrupt() throws Exception {
    String script = "trap 'echo heard' INT; while :; do echo tick; sleep 0.1; done";
    ok("run", "-d", "-it", "--name", "deaf", "--network", "none", "bb:1", "sh", "-c", script);
    Path output = directory.resolve("attached");
    // tests that run in the background of a shell ignore the signal, and so would their children
    var words = new ArrayList<>(List.of("env", "--default-signal=INT"));
    words.addAll(daemon.process("attach", "deaf"));
    Process attached = Processes.start(Command.of(words).withEnv(daemon.env()), output.toFile());
    try {
      awaitLine(output, "tick"); // from now on it is the one to decide what an interrupt means
      for (long heard : List.of(1L, 2L, 3L)) {
        assertThat(attached.isAlive()).as("before interrupt %d", heard).isTrue();
        Processes.run(
            Command.of("kill", "-INT", Long.toString(attached.pid())),
            Deadline.after(Duration.ofSeconds(10)));
        Awaitility.await().until(() -> heard == 3 ? !attached.isAlive() : heard(output) == heard);
      }
    } finally {
      attached.destroyForcibly();
    }
    assertThat(ok("ps")).contains("deaf");
  }
}
