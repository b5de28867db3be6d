package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How a daemon comes and goes. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI})
class StartIT {
  /** Prints what is sent to a socket of single messages. */
  private static final String LISTENER =
      "use Socket; $| = 1; socket(S, AF_UNIX, SOCK_DGRAM, 0) or die $!;"
          + " bind(S, sockaddr_un($ARGV[0])) or die $!; print \"ready\\n\";"
          + " while (defined recv(S, $b, 4096, 0)) { print \"$b\\n\" }";

  private Node node;

  @BeforeEach
  void findAPlace() throws Exception {
    node = new Node();
  }

  @AfterEach
  void tidy() throws Exception {
    node.close();
  }

  private static Optional<Json> faulty(Rest rest) throws InterruptedException {
    return rest.get("/health/ready").json().at("owners").items().stream()
        .filter(owner -> owner.at("name").string().orElse("").equals("faulty part"))
        .findFirst();
  }

  @Test
  void whenAPartKeepsDyingTheProcessEndsWithTheReason() throws Exception {
    Path faults = node.directory.resolve("faults");
    try (ChildDaemon daemon = ChildDaemon.start(node, Map.of("FAULTS", faults.toString()));
        Rest rest = node.rest()) {
      assertThat(faulty(rest).orElseThrow().at("restarts").integer()).contains(0L);
      for (long death = 1; death <= 3; death++) {
        Files.writeString(faults, "again\n".repeat((int) death));
        long restarts = death;
        Awaitility.await()
            .pollInterval(Duration.ofMillis(20))
            .until(
                () -> faulty(rest).orElseThrow().at("restarts").integer().orElse(0L) == restarts);
        assertThat(faulty(rest).orElseThrow().at("reason").string().orElseThrow())
            .contains("injected fault " + death);
      }
      assertThat(rest.get("/health/ready").status()).as("it was restarted").isEqualTo(200);
      Files.writeString(faults, "again\n".repeat(4));
      assertThat(daemon.ended()).isEqualTo(1);
    }
    assertThat(Files.readAllLines(node.directory.resolve("daemon.log")).getLast())
        .isEqualTo(
            "zlayer: faulty part died 4 times, last of java.lang.IllegalStateException: injected"
                + " fault 4");
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      rest.get("/health/ready").expect(200);
    }
  }

  @Test
  void aFailedStartNamesThePartOnceAndLetsGoOfEverything() throws Exception {
    var lines = new ByteArrayOutputStream();
    var log =
        new Log(
            new PrintStream(lines, true, StandardCharsets.UTF_8),
            Log.Level.WARN,
            Log.Format.TEXT,
            InstantSource.system());
    Files.createDirectories(node.socket().getParent());
    try (var other = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      other.bind(UnixDomainSocketAddress.of(node.socket()));
      assertThatThrownBy(() -> Daemon.open(node.configured(), Map.of(), log))
          .isInstanceOf(AgentException.Configuration.class)
          .hasMessageContaining("another program listens");
    }
    assertThat(lines.toString(StandardCharsets.UTF_8).lines().toList())
        .singleElement()
        .asString()
        .contains("could not start part=\"the HTTP listener\"");
    try (Daemon _ = node.daemon()) {
      lines.reset();
      assertThatThrownBy(() -> Daemon.open(node.configured(), Map.of(), log))
          .hasMessageContaining("in use by process " + ProcessHandle.current().pid());
      assertThat(lines.toString(StandardCharsets.UTF_8).lines().toList())
          .singleElement()
          .asString()
          .contains("could not start part=\"the lock of the data directory\"");
    }
  }

  @Test
  void theServiceManagerIsToldOfBothEnds() throws Exception {
    Path socket = node.directory.resolve("notify");
    Process manager =
        Processes.start(Command.of(List.of("perl", "-e", LISTENER, socket.toString())));
    try (BufferedReader told = manager.inputReader()) {
      assertThat(told.readLine()).isEqualTo("ready");
      try (var daemon =
          ChildDaemon.start(
              node, Map.of("NOTIFY_SOCKET", socket.toString(), "WATCHDOG_USEC", "3600000000"))) {
        String line = told.readLine();
        assertThat(line).isEqualTo("EXTEND_TIMEOUT_USEC=120000000");
        while (line.startsWith("EXTEND_TIMEOUT_USEC=")) {
          line = told.readLine(); // once more for each half minute
        }
        assertThat(line).isEqualTo("READY=1");
        assertThat(told.readLine()).isEqualTo("MAINPID=" + daemon.pid());
        assertThat(told.readLine()).isEqualTo("WATCHDOG=1");
        int _ = daemon.terminate();
        assertThat(told.readLine()).isEqualTo("STOPPING=1");
      }
    } finally {
      manager.destroyForcibly();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"v1.db", "v2.db"})
  void theDirectoryOfAnOlderBuildIsOpened(String fixture) throws Exception {
    Path old = Path.of("..", "engine", "src", "test", "resources", "state", fixture);
    Files.copy(old, node.directory.resolve("state.db"));
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      rest.get("/health/ready").expect(200);
      assertThat(rest.get("/executions").expect(200).json().items()).isNotNull();
    }
    try (Daemon _ = node.daemon();
        Rest rest = node.rest()) {
      rest.get("/deployments").expect(200);
    }
  }
}
