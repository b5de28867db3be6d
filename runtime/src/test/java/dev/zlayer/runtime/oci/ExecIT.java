package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.HotSpotDiagnosticMXBean;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.Signal;
import dev.zlayer.container.TerminalSize;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.Announcement;
import dev.zlayer.host.linux.Self;
import dev.zlayer.port.Attachable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Further processes in a container. */
class ExecIT extends OnStage {
  private Container container;

  @BeforeAll
  void start() throws Exception {
    var process =
        ProcessSpec.DEFAULT
            .withArgs("sleep", "300")
            .withEnv(Map.of("KEPT", "1", "CHANGED", "old"))
            .withWorkdir("/tmp");
    container =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec().withProcess(process));
    container.start();
  }

  @AfterAll
  void end() throws Exception {
    container.remove(true);
  }

  @Test
  void outputAndExitCodeAreTold() throws Exception {
    try (var session = container.exec(ExecSpec.of("sh", "-c", "echo out; echo err >&2; exit 5"))) {
      assertThat(session.stdout().readAllBytes()).asString().isEqualTo("out\n");
      assertThat(session.stderr().readAllBytes()).asString().isEqualTo("err\n");
      assertThat(session.await(soon())).isEqualTo(new ExitStatus.Code(5));
    }
    assertThat(fixture.dirs.container(container.id().runtimeName()).execs()).isEmptyDirectory();
  }

  @Test
  void whatCommandsLeaveInTheBackgroundHoldsNothingOfTheAgent() throws Exception {
    assertThat(leaving()).isEqualTo(new ExitStatus.Code(3));
    long before = Self.descriptors();
    for (int i = 0; i < 3; i++) {
      assertThat(leaving()).isEqualTo(new ExitStatus.Code(3));
    }
    Awaitility.await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(() -> assertThat(Self.descriptors()).isLessThanOrEqualTo(before));
    try (var session = container.exec(ExecSpec.of("ps"))) {
      assertThat(session.stdout().readAllBytes()).asString().contains("sleep 250");
    }
    assertThat(fixture.dirs.container(container.id().runtimeName()).execs()).isEmptyDirectory();
  }

  /** CVE-2019-5736: what reaches the program that runs a command must not reach it on disk. */
  @Test
  void crunRunsCommandsFromOneCopyInMemory() throws Exception {
    boolean copied = fixture.runtime.tools().runtime().sealed().isPresent();
    String program = fixture.runtime.tools().runtime().path().toString();
    for (int round = 0; round < 2; round++) {
      try (var session = container.exec(ExecSpec.of("sh", "-c", "echo begun; sleep 60"))) {
        assertThat(session.stdout().readNBytes(6)).asString().isEqualTo("begun\n");
        assertThat(programsOfChildren())
            .contains(copied ? "/memfd:crun (deleted)" : program)
            .doesNotContain(copied ? program : "/memfd:runc (deleted)");
        assertThat(
                Runs.exec(
                    container, "sh", "-c", "for f in /proc/[0-9]*/fd/*; do readlink $f; done"))
            .as("descriptors of all processes inside")
            .doesNotContain("memfd");
      }
    }
  }

  /** It is only faster, so all there is to see is that the file is there and harmless. */
  @Test
  void commandsCanBeAnnouncedWhereThatHelps() throws Exception {
    Path socket = Files.createFile(directory.resolve("agent.sock"));
    fixture.runtime.listen(socket);
    assertThat(Files.exists(Announcement.of(socket)))
        .isEqualTo(fixture.runtime.tools().runtime().sendsTerminals());
    for (int i = 0; i < 20; i++) {
      Announcement.announce(socket);
      assertThat(Runs.exec(container, "echo", "done")).isEqualTo("done");
    }
  }

  private static List<String> programsOfChildren() {
    return ProcessHandle.current()
        .children()
        .map(child -> Path.of("/proc/%d/exe".formatted(child.pid())))
        .flatMap(
            exe -> {
              try {
                return Stream.of(Files.readSymbolicLink(exe).toString());
              } catch (IOException _) {
                return Stream.empty(); // it has ended
              }
            })
        .toList();
  }

  private ExitStatus leaving() throws Exception {
    try (var session = container.exec(ExecSpec.of("sh", "-c", "sleep 250 & exit 3"))) {
      assertThat(session.stdout().readAllBytes()).isEmpty();
      return session.await(soon());
    }
  }

  @Test
  void missingAndForbiddenCommandsHaveTheirCodes() throws Exception {
    assertThat(code(ExecSpec.of("no-such-command"))).isEqualTo(new ExitStatus.Code(127));
    assertThat(code(ExecSpec.of("/no/such/command"))).isEqualTo(new ExitStatus.Code(127));
    assertThat(code(ExecSpec.of("/etc/passwd"))).isEqualTo(new ExitStatus.Code(126));
    assertThat(code(ExecSpec.of("/tmp"))).isEqualTo(new ExitStatus.Code(126));
    assertThat(code(ExecSpec.of("sh", "-c", "exit 127"))).isEqualTo(new ExitStatus.Code(127));
    assertThat(code(ExecSpec.of("sh", "-c", "kill -TERM $$")))
        .isEqualTo(new ExitStatus.Signalled(Signal.TERM));
  }

  @Test
  void environmentDirectoryAndUserCanDiffer() throws Exception {
    assertThat(Runs.exec(container, "sh", "-c", "echo $KEPT $CHANGED; pwd; id -u"))
        .isEqualTo("1 old\n/tmp\n0");
    var spec =
        ExecSpec.of("sh", "-c", "echo $KEPT $CHANGED $NEW; pwd; id -u; id -G; echo $HOME")
            .withEnv(Map.of("CHANGED", "new", "NEW", "2"))
            .withWorkdir("/home/app")
            .withUser("app");
    assertThat(Runs.exec(container, spec))
        .isEqualTo("1 new 2\n/home/app\n1000\n1000 50\n/home/app");
    assertThatThrownBy(() -> container.exec(ExecSpec.of("id").withUser("unknown")))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }

  @Test
  void privilegedHasMoreCapabilities() throws Exception {
    var spec =
        new ExecSpec(
            List.of("grep", "CapEff", "/proc/self/status"),
            Map.of(),
            Optional.empty(),
            Optional.empty(),
            true,
            false,
            false,
            Optional.empty());
    assertThat(Runs.exec(container, spec)).doesNotContain("a80425fb").contains("ffff");
  }

  @Test
  void inputIsReadToItsEnd() throws Exception {
    byte[] much = "0123456789abcde\n".repeat(20_000).getBytes(StandardCharsets.UTF_8);
    try (var session = container.exec(ExecSpec.of("md5sum").withStdin())) {
      session.stdin().write(much);
      session.stdin().close();
      assertThat(session.stdout().readAllBytes())
          .asString()
          .startsWith(
              java.util.HexFormat.of()
                  .formatHex(java.security.MessageDigest.getInstance("MD5").digest(much)));
      assertThat(session.await(soon()).success()).isTrue();
    }
    assertThat(Runs.exec(container, "cat")).isEmpty();
  }

  @Test
  @Requires(Fact.REAL_TIME)
  void aTerminalHasItsSizeFromTheStart() throws Exception {
    for (int round = 0; round < 50; round++) {
      var spec = ExecSpec.of("stty", "size").withTerminal(new TerminalSize(44, 100 + round));
      try (var session = container.exec(spec)) {
        assertThat(shown(session)).isEqualTo("44 %d\r\n".formatted(100 + round));
        assertThat(session.await(soon())).isEqualTo(new ExitStatus.Code(0));
      }
    }
  }

  /**
   * All that a terminal showed. runc keeps its terminal inside from ending lines with a return only
   * a moment after the start and does so itself, so the first lines may have two.
   */
  private static String shown(ExecSession session) throws IOException {
    return new String(session.stdout().readAllBytes(), StandardCharsets.UTF_8)
        .replace("\r\r\n", "\r\n");
  }

  @Test
  void whatATerminalShowsLastIsNotLost() throws Exception {
    String numbers = "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; printf end";
    String shown =
        IntStream.range(0, 2000)
            .mapToObj(i -> "line " + i + "\r\n")
            .collect(Collectors.joining("", "", "end"));
    for (int round = 0; round < 50; round++) {
      String script = round % 2 == 0 ? "printf end" : numbers;
      try (var session = container.exec(ExecSpec.of("sh", "-c", script).withTerminal())) {
        assertThat(shown(session)).as("round " + round).isEqualTo(round % 2 == 0 ? "end" : shown);
        assertThat(session.await(soon())).isEqualTo(new ExitStatus.Code(0));
      }
    }
  }

  @Test
  void aCommandThatCannotBeRunOnATerminalHasItsCode() throws Exception {
    assertThat(code(ExecSpec.of("no-such-command").withTerminal()))
        .isEqualTo(new ExitStatus.Code(127));
    assertThat(code(ExecSpec.of("/etc/passwd").withTerminal())).isEqualTo(new ExitStatus.Code(126));
  }

  @Test
  void theLastOfManySizesIsTheOneThatStays() throws Exception {
    try (var session = container.exec(ExecSpec.of("sh").withTerminal())) {
      for (int columns = 50; columns <= 99; columns++) {
        session.resize(33, columns);
      }
      String script = "until stty size | grep -x '33 99'; do sleep 0.02; done; exit 4\n";
      session.stdin().write(script.getBytes(StandardCharsets.UTF_8));
      byte[] _ = session.stdout().readAllBytes();
      assertThat(session.await(soon())).isEqualTo(new ExitStatus.Code(4));
    }
  }

  @Test
  void sessionsLeaveNoDescriptors() throws Exception {
    Runs.exec(container, "true");
    terminal();
    long before = descriptors();
    for (int i = 0; i < 30; i++) {
      terminal();
      Runs.exec(container, "true");
    }
    // the last thread that copies may still be about to close its own
    Awaitility.await().untilAsserted(() -> assertThat(descriptors()).isLessThanOrEqualTo(before));
  }

  private void terminal() throws Exception {
    var session = container.exec(ExecSpec.of("true").withTerminal());
    try (session) {
      session.stdout().readAllBytes();
      session.await(soon());
      session.resize(10, 20); // a window may change at any time, also when it is over
    }
    assertThatThrownBy(() -> session.stdin().write("late".getBytes(StandardCharsets.UTF_8)))
        .isInstanceOf(java.io.IOException.class)
        .hasMessageContaining("closed");
  }

  /** containerd 2022 and 2025: what failed to start on a terminal, or was left, stayed behind. */
  @Test
  void terminalsThatFailAndAttachmentsThatEndLeaveNothing() throws Exception {
    var process = ProcessSpec.DEFAULT.withArgs("cat").withStdin(true).withTerminal(true);
    Container cat =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec().withProcess(process));
    try {
      cat.start();
      failAndAttach(cat);
      long threads = threads();
      long descriptors = descriptors();
      for (int i = 0; i < 20; i++) {
        failAndAttach(cat);
      }
      Awaitility.await()
          .untilAsserted(
              () -> {
                assertThat(threads()).isLessThan(threads + 20);
                assertThat(descriptors()).isLessThan(descriptors + 20);
              });
    } finally {
      cat.remove(true);
    }
  }

  private void failAndAttach(Container cat) throws Exception {
    try (var session = cat.exec(ExecSpec.of("no-such-command").withTerminal())) {
      session.resize(10, 20);
      assertThat(session.await(soon())).isEqualTo(new ExitStatus.Code(127));
    }
    try (var session = ((Attachable) cat).attach()) {
      session.resize(10, 20);
    }
  }

  /** Virtual ones too. */
  private long threads() throws Exception {
    Path dump = directory.resolve("threads.json");
    Files.deleteIfExists(dump);
    ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
        .dumpThreads(dump.toString(), HotSpotDiagnosticMXBean.ThreadDumpFormat.JSON);
    String text = Files.readString(dump);
    return text.split("\"tid\":", -1).length;
  }

  private static long descriptors() throws Exception {
    try (var open = Files.list(Path.of("/proc/self/fd"))) {
      return open.count();
    }
  }

  @Test
  void aTerminalIsOneAndCanBeResized() throws Exception {
    try (var session = container.exec(ExecSpec.of("sh").withTerminal())) {
      session.resize(33, 99);
      // the runtime passes the size on a moment after the shell has begun
      String script = "tty; until stty size | grep 99; do sleep 0.02; done; exit 3\n";
      session.stdin().write(script.getBytes(StandardCharsets.UTF_8));
      String shown = new String(session.stdout().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(shown).contains("/dev/pts/").contains("33 99");
      assertThat(session.await(soon())).isEqualTo(new ExitStatus.Code(3));
    }
  }

  @Test
  void closingEndsTheProcess() throws Exception {
    var session = container.exec(ExecSpec.of("sleep", "4242"));
    Awaitility.await().until(() -> Runs.exec(container, "ps").contains("sleep 4242"));
    assertThatThrownBy(() -> session.await(Deadline.after(Duration.ofMillis(10))))
        .isInstanceOf(AgentException.Timeout.class);
    session.close();
    Awaitility.await().until(() -> !Runs.exec(container, "ps").contains("sleep 4242"));
  }

  @Test
  void manyRunAtOnce() throws Exception {
    try (var scope = new TaskScope("execs")) {
      var outputs =
          java.util.stream.IntStream.range(0, 8)
              .mapToObj(i -> scope.fork(() -> Runs.exec(container, "echo", "number " + i)))
              .toList();
      scope.join();
      for (int i = 0; i < 8; i++) {
        assertThat(outputs.get(i).result()).isEqualTo("number " + i);
      }
    }
  }

  @Test
  void itEndsWithItsContainer() throws Exception {
    Container other =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec("sleep", "300"));
    other.start();
    var session = other.exec(ExecSpec.of("sleep", "300"));
    Awaitility.await().until(() -> Runs.exec(other, "ps").contains("sleep 300"));
    other.kill(Signal.KILL);
    assertThat(session.await(soon()).success()).isFalse();
    session.close();
    Runs.end(other);
    assertThatThrownBy(() -> other.exec(ExecSpec.of("true")))
        .isInstanceOf(AgentException.Conflict.class);
    other.remove(true);
  }

  /** A virtual thread that waits in the kernel keeps its carrier from all others. */
  @Test
  void whoeverWritesToOneThatDoesNotReadKeepsNobodyWaiting() throws Exception {
    var process = ProcessSpec.DEFAULT.withArgs("sleep", "300").withStdin(true);
    Container deaf =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec().withProcess(process));
    deaf.start();
    int writers = Runtime.getRuntime().availableProcessors() + 1;
    var sessions = new ArrayList<ExecSession>();
    try {
      for (int i = 0; i < writers; i++) {
        ExecSession session =
            i % 2 == 0
                ? ((Attachable) deaf).attach()
                : container.exec(
                    ExecSpec.of("sh", "-c", "stty raw; echo raw; sleep 300").withTerminal());
        sessions.add(session);
        if (i % 2 != 0) {
          assertThat(session.stdout().readNBytes(3)).asString().isEqualTo("raw");
        }
        var blocked = new CountDownLatch(1);
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    for (int round = 0; round < 10_000; round++) {
                      session.stdin().write(new byte[8192]);
                      blocked.countDown();
                    }
                  } catch (IOException _) {
                    // closed at the end
                  }
                });
        assertThat(blocked.await(20, TimeUnit.SECONDS)).isTrue();
      }
      for (int round = 0; round < 20; round++) {
        var ran = new CountDownLatch(1);
        Thread.ofVirtual().start(ran::countDown);
        assertThat(ran.await(20, TimeUnit.SECONDS)).isTrue();
        Thread.sleep(20); // gives the writers time to fill what there is to fill
      }
    } finally {
      sessions.forEach(ExecSession::close);
      deaf.remove(true);
    }
  }

  private ExitStatus code(ExecSpec spec) throws InterruptedException {
    try (var session = container.exec(spec)) {
      return session.await(soon());
    }
  }

  private static Deadline soon() {
    return Deadline.after(RuntimeFixture.TIMEOUT);
  }
}
