package dev.zlayer.cli.command.container;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.cli.TerminalFixture;
import dev.zlayer.cli.terminal.Terminal;
import dev.zlayer.task.Stopwatch;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code run -it}, {@code exec -it} and {@code attach} at a real terminal. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class TerminalIT {
  @TempDir static Path directory;
  private static DaemonFixture daemon;

  @BeforeAll
  static void startADaemon() {
    daemon = DaemonFixture.start(directory).withBusybox("bb:1");
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  private static TerminalFixture at(String... arguments) throws Exception {
    return TerminalFixture.start(daemon.process(arguments), daemon.env());
  }

  @Test
  void aShellHasATerminalOfTheRightSizeAndReturnsItsCode() throws Exception {
    try (var person = at("run", "--rm", "-it", "--network", "none", "bb:1", "sh")) {
      person.awaitText("# ");
      person.type("tty && stty size\r");
      person.awaitText("33 77");
      person.resize(40, 100);
      person.type("until stty size | grep -x '40 100'; do sleep 0.02; done\r");
      person.awaitTextAfter("done", "40 100");
      person.type("echo be''gin; cat\r");
      person.awaitText("begin");
      person.type("\u0003"); // ^C ends cat, not the shell
      person.awaitTextAfter("^C", "# ");
      person.type("exit 42\r");
      assertThat(person.exitCode()).as(person.screen()).isEqualTo(42);
    }
    assertThat(daemon.ok("ps", "--all", "--quiet")).isEmpty();
  }

  @Test
  @Requires(Fact.REAL_TIME)
  void theFirstInstructionSeesTheSizeOfTheWindow() throws Exception {
    for (int round = 0; round < 3; round++) {
      try (var person = at("run", "--rm", "-it", "--network", "none", "bb:1", "stty", "size")) {
        assertThat(person.exitCode()).as(person.screen()).isZero();
        person.awaitText("33 77");
        assertThat(person.screen().strip()).isEqualTo("33 77");
      }
    }
    daemon.ok("run", "-d", "--name", "sized", "--network", "none", "bb:1", "sleep", "300");
    for (int round = 0; round < 3; round++) {
      try (var person = at("exec", "-it", "sized", "stty", "size")) {
        assertThat(person.exitCode()).as(person.screen()).isZero();
        person.awaitText("33 77");
        assertThat(person.screen().strip()).isEqualTo("33 77");
      }
    }
    daemon.ok("rm", "-f", "sized");
  }

  /** Every size counts that was the last, also when many come at once, as while dragging. */
  @Test
  void attachBringsItsSizeAndFollowsTheWindow() throws Exception {
    String script =
        "old=; while :; do new=$(stty size); [ \"$new\" = \"$old\" ] || echo size $new;"
            + " old=$new; sleep 0.02; done";
    daemon.ok(
        "run", "-d", "-it", "--name", "drag", "--network", "none", "bb:1", "sh", "-c", script);
    try (var person = at("attach", "drag")) {
      person.awaitText("size 33 77");
      for (int columns = 100; columns <= 130; columns++) {
        person.resize(50, columns);
      }
      person.awaitText("size 50 130");
      person.resize(20, 60);
      person.awaitTextAfter("size 50 130", "size 20 60");
      person.type("\u0010\u0011");
      assertThat(person.exitCode()).isZero();
    }
    daemon.ok("rm", "-f", "drag");
  }

  /** A window may change at any moment, and every signal is handled on a thread of its own. */
  @Test
  void theLastSizeOfTheWindowStaysInWhateverOrderSignalsAreHandled() throws Exception {
    daemon.ok("run", "-d", "-it", "--name", "order", "--network", "none", "bb:1", "sleep", "300");
    var window = new SlowWindow();
    try (var keys = new PipedOutputStream();
        var scope = new TaskScope("attach")) {
      var in = new PipedInputStream(keys);
      var attached = scope.fork(() -> daemon.cli().runAt(window, in, "attach", "order"));
      awaitSize("order", "40 100"); // it changed when the first was read
      window.size = new Terminal.Size(50, 129);
      Thread slow = window.changed();
      window.reading.await();
      window.size = new Terminal.Size(50, 130);
      Thread fast = window.changed();
      fast.join(Duration.ofMillis(500)); // unless it has to wait for the slow one
      window.read.countDown();
      slow.join();
      fast.join();
      awaitSize("order", "50 130");
      keys.write("\u0010\u0011".getBytes(StandardCharsets.UTF_8));
      keys.flush();
      scope.join();
      assertThat(attached.result()).isZero();
    } finally {
      daemon.ok("rm", "-f", "order");
    }
  }

  private static void awaitSize(String container, String size) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(
            () ->
                assertThat(daemon.ok("exec", container, "stty", "-F", "/dev/console", "size"))
                    .isEqualTo(size + "\n"));
  }

  /** Changes when its size has been read the first time; 129 columns take long to be read. */
  private static final class SlowWindow implements Terminal {
    final CountDownLatch reading = new CountDownLatch(1);
    final CountDownLatch read = new CountDownLatch(1);
    volatile Size size = new Size(33, 77);
    private volatile Runnable handler = () -> {};

    @Override
    public Optional<Size> size() {
      Size seen = size;
      if (seen.columns() == 77) {
        size = new Size(40, 100);
        Thread _ = changed();
      }
      if (seen.columns() == 129) {
        reading.countDown();
        try {
          read.await();
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }
      return Optional.of(seen);
    }

    Thread changed() {
      return Thread.ofPlatform().daemon().start(handler);
    }

    @Override
    public Undo raw() {
      return () -> {};
    }

    @Override
    public Undo onSignal(String name, Runnable action) {
      if (name.equals("WINCH")) {
        handler = action;
      }
      return () -> {};
    }

    @Override
    public Undo onOutputClosed(Runnable action) {
      return () -> {};
    }
  }

  @Test
  void leavingLeavesItRunningAndAttachComesBack() throws Exception {
    daemon.ok("run", "-d", "-it", "--name", "stays", "--network", "none", "bb:1", "sh");
    try (var person = at("attach", "stays")) {
      person.type("MARK=seven; echo set $MARK\r");
      person.awaitText("set seven");
      person.type("\u0010\u0011");
      person.awaitText("reattach with 'zlayer attach stays'");
      assertThat(person.exitCode()).isZero();
    }
    try (var person = at("attach", "stays")) {
      person.type("echo still $MARK; exit 3\r");
      person.awaitText("still seven");
      assertThat(person.exitCode()).isEqualTo(3);
    }
    daemon.ok("rm", "stays");
  }

  @Test
  void oneThatIsRemovedAtItsEndIsRemovedAtOnceWhenEverybodyHasDetached() throws Exception {
    try (var person =
        at("run", "--rm", "-it", "--name", "left", "--network", "none", "bb:1", "sh")) {
      person.type("echo rea''dy\r");
      person.awaitText("ready");
      person.type("\u0010\u0011");
      assertThat(person.exitCode()).isZero();
    }
    daemon.ok("kill", "left");
    // much sooner than one whose output somebody may still read
    Awaitility.await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> !daemon.ok("ps", "--all").contains("left"));
  }

  @Test
  void aStopThatTakesLongCountsDown() throws Exception {
    daemon.ok("run", "-d", "--name", "deaf", "--network", "none", "bb:1", "sleep", "1000");
    try (var person = at("stop", "-t", "60s", "deaf")) {
      person.awaitText("deaf is stopping; killed in ");
      // a busy machine may skip seconds
      Awaitility.await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> secondsLeft(person.screen()).size() > 1);
      assertThat(secondsLeft(person.screen()))
          .isSortedAccordingTo(Comparator.reverseOrder())
          .allSatisfy(seconds -> assertThat(seconds).isBetween(0, 58));
      daemon.ok("kill", "deaf");
      assertThat(person.exitCode()).isZero();
      assertThat(person.screen().strip()).endsWith("deaf");
    }
    daemon.ok("rm", "deaf");
    daemon.ok("run", "-d", "--name", "quick", "--network", "none", "bb:1", "sleep", "1000");
    try (var person = at("stop", "-t", "0s", "quick")) {
      assertThat(person.exitCode()).isZero();
      assertThat(person.screen()).doesNotContain("stopping");
    }
    daemon.ok("rm", "quick");
  }

  private static List<Integer> secondsLeft(String screen) {
    return Pattern.compile("killed in (\\d+) s")
        .matcher(screen)
        .results()
        .map(found -> Integer.valueOf(found.group(1)))
        .distinct()
        .toList();
  }

  @Test
  void aLiveViewShowsEachChangeAtOnce() throws Exception {
    Files.writeString(
        directory.resolve("slow.yml"),
        """
        version: v1
        deployment: slow
        services:
          web:
            image: {name: bb:1}
            command: {args: [sleep, "1000"]}
            stop_grace_period: 5s
        """);
    daemon.ok("up", "slow.yml");
    try (var person = at("down", "slow")) {
      person.awaitText("removing"); // while the grace goes on, nothing more is told
      person.awaitText("deployment 'slow' is removed");
      assertThat(person.exitCode()).isZero();
      assertThat(person.screen().indexOf("removing"))
          .isLessThan(person.screen().lastIndexOf("\033[2K"));
    }
    try (var person = at("ps", "--watch")) {
      person.awaitText("NAME");
      person.type("\u0003");
      assertThat(person.exitCode()).isZero();
      assertThat(person.screen()).endsWith("^C\r\n");
    }
  }

  @Test
  void logsOnATerminalAreEscapedUnlessTheyAreAskedForRaw() throws Exception {
    String evil = "\033[31mred\033[0m \033[2Jwiped \033]0;title\007 \u009b2J";
    String written = "\\033[31mred\\033[0m \\033[2Jwiped \\033]0;title\\007 \\302\\2332J\\n";
    daemon.ok("run", "--name", "evil", "--network", "none", "bb:1", "printf", written);
    try {
      try (var person = at("logs", "evil")) {
        assertThat(person.exitCode()).as(person.screen()).isZero();
        person.awaitText("title");
        assertThat(person.screen())
            .contains("\033[31mred\033[0m", "\\x1b[2Jwiped", "\\x1b]0;title\\x07")
            .doesNotContain("\033[2J", "\033]", "\007", "\u009b");
      }
      try (var person = at("logs", "--raw", "evil")) {
        assertThat(person.exitCode()).as(person.screen()).isZero();
        person.awaitText("\033[2Jwiped");
      }
      assertThat(daemon.ok("logs", "evil")).isEqualTo(evil + "\n"); // a pipe gets all as it is
    } finally {
      daemon.ok("rm", "-f", "evil");
    }
  }

  @Test
  void aFirstProcessThatHeedsNoInterruptIsToldHowToEnd() throws Exception {
    try (var person =
        at(
            "run",
            "--rm",
            "--name",
            "deaf",
            "--network",
            "none",
            "bb:1",
            "sh",
            "-c",
            "echo up; sleep 300")) {
      person.awaitText("up");
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .pollInterval(Duration.ofMillis(200))
          .until(
              () -> {
                person.type("\u0003");
                return person.screen().contains("end it with 'zlayer kill deaf'");
              });
      daemon.ok("kill", "deaf");
      assertThat(person.exitCode()).isEqualTo(137);
    }
  }

  @Test
  void aCommandInARunningContainerGetsATerminal() throws Exception {
    daemon.ok("run", "-d", "--name", "host", "--network", "none", "bb:1", "sleep", "300");
    try (var person = at("exec", "-it", "-e", "WHO=me", "-w", "/tmp", "host", "sh")) {
      person.awaitText("# ");
      person.type("echo $WHO in $(pwd) with $(stty size)\r");
      person.awaitText("me in /tmp with 33 77");
      person.type("exit 5\r");
      assertThat(person.exitCode()).as(person.screen()).isEqualTo(5);
    }
    daemon.ok("rm", "-f", "host");
  }

  /** Thirty sessions once left 58 behind. */
  @Test
  void sessionsLeaveNoDescriptorInTheDaemon() throws Exception {
    daemon.ok("run", "-d", "--name", "often", "--network", "none", "bb:1", "sleep", "300");
    long pid = daemon.json("daemon", "status", "--json").at("pid").integer().orElseThrow();
    Path open = Path.of("/proc", Long.toString(pid), "fd");
    int sessions = 6;
    Set<String> before = Set.of();
    for (int session = 0; session <= sessions; session++) {
      try (var person = at("exec", "-it", "often", "true")) {
        assertThat(person.exitCode()).as(person.screen()).isZero();
      }
      before = session == 0 ? terminals(open) : before; // the first one may open what stays
    }
    Set<String> opened = before;
    Awaitility.await()
        .untilAsserted(() -> assertThat(terminals(open)).hasSizeLessThan(opened.size() + sessions));
    daemon.ok("rm", "-f", "often");
  }

  /** What the daemon has open of terminals, pipes and sockets. */
  private static Set<String> terminals(Path open) throws IOException {
    try (var found = Files.list(open)) {
      return found
          .map(TerminalIT::link)
          .filter(name -> name.matches("(pipe|socket):.*|/dev/(pts|ptmx).*"))
          .collect(Collectors.toSet());
    }
  }

  private static String link(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString();
    } catch (IOException _) {
      return "closed";
    }
  }

  @Test
  void whoPrunesIsAsked() throws Exception {
    daemon.ok("run", "--name", "spent", "--network", "none", "bb:1", "true");
    try (var person = at("container", "prune")) {
      person.awaitText("Remove these? [y/N]");
      assertThat(person.screen()).contains("container spent");
      person.type("n\r");
      assertThat(person.exitCode()).isEqualTo(1);
    }
    assertThat(daemon.ok("ps", "--all")).contains("spent");
    try (var person = at("container", "prune")) {
      person.awaitText("Remove these? [y/N]");
      person.type("y\r");
      assertThat(person.exitCode()).isZero();
    }
    assertThat(daemon.ok("ps", "--all")).doesNotContain("spent");
  }

  @Test
  void aCopyThatTakesItsTimeShowsHowFarItIs() throws Exception {
    daemon.ok("run", "-d", "--name", "filled", "--network", "none", "bb:1", "sleep", "300");
    var quoted = new StringBuilder();
    daemon.process("cp", "-", "filled:/tmp").forEach(word -> quoted.append(" '" + word + "'"));
    String slow =
        "cd '%s'; head -c 3000000 /dev/zero > big; tar -cf - big | (head -c 1000000; sleep 2; cat) |%s"
            .formatted(directory, quoted);
    try (var person = TerminalFixture.start(List.of("sh", "-c", slow), daemon.env())) {
      assertThat(person.exitCode()).as(person.screen()).isZero();
      assertThat(person.screen()).containsPattern("B copied, [0-9.]+ .?i?B/s");
    }
    assertThat(daemon.ok("exec", "filled", "wc", "-c", "/tmp/big")).startsWith("3000000");
    Files.writeString(directory.resolve("small"), "small");
    var took = Stopwatch.started();
    try (var person = at("cp", directory.resolve("small").toString(), "filled:/tmp")) {
      assertThat(person.exitCode()).as(person.screen()).isZero();
      boolean quick = took.passed().compareTo(Duration.ofSeconds(1)) < 0;
      person.awaitText("copied ");
      assertThat(!quick || !person.screen().contains("B/s")).as(person.screen()).isTrue();
    }
    daemon.ok("rm", "-f", "filled");
  }
}
