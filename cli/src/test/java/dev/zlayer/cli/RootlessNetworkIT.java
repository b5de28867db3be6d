package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The network of an ordinary user's agent, also while parts of it are killed. */
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.ROOTLESS
})
final class RootlessNetworkIT {
  private static final int USER = 64_324;
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int KILL = 9;

  @TempDir private static Path directory;
  private static RootlessAgent agent;

  /** Another host beside this one: a network namespace with two addresses between them. */
  private static final String NEIGHBOUR = "zr" + RandomGenerator.getDefault().nextInt(1_000_000);

  private static final String NETWORK =
      "198.18.%d.%d"
          .formatted(
              RandomGenerator.getDefault().nextInt(256),
              4 * RandomGenerator.getDefault().nextInt(64));
  private static final String HERE = address(1);
  private static final String THERE = address(2);
  private static Process server;

  private int port;

  private static String address(int last) {
    int dot = NETWORK.lastIndexOf('.') + 1;
    return NETWORK.substring(0, dot) + (Integer.parseInt(NETWORK.substring(dot)) + last);
  }

  @BeforeAll
  static void open() throws Exception {
    ip("netns", "add", NEIGHBOUR);
    ip("link", "add", NEIGHBOUR, "type", "veth", "peer", "name", "eth0", "netns", NEIGHBOUR);
    ip("addr", "add", HERE + "/30", "dev", NEIGHBOUR);
    ip("link", "set", NEIGHBOUR, "up");
    ip("-n", NEIGHBOUR, "addr", "add", THERE + "/30", "dev", "eth0");
    ip("-n", NEIGHBOUR, "link", "set", "eth0", "up");
    server =
        Processes.start(
            there("busybox", "nc", "-ll", "-p", "7000", "-e", "echo", "outside"),
            directory.resolve("server.log").toFile());
    agent = RootlessAgent.open(directory, USER);
  }

  @AfterAll
  static void close() throws Exception {
    try {
      agent.close();
    } finally {
      server.destroyForcibly();
      ip("netns", "delete", NEIGHBOUR); // and with it both interfaces
    }
  }

  private static void ip(String... words) throws InterruptedException {
    var command = new ArrayList<>(List.of("ip"));
    command.addAll(List.of(words));
    Processes.check(Command.of(command), Deadline.after(LIMIT));
  }

  private static Command there(String... words) {
    var command = new ArrayList<>(List.of("ip", "netns", "exec", NEIGHBOUR));
    command.addAll(List.of(words));
    return Command.of(command);
  }

  @BeforeEach
  void publish() throws Exception {
    port = RootlessAgent.freePort();
    agent.ok(
        "run", "-d", "--name", "web", "-p", port + ":80", "bb:1", "sh", "-c", RootlessAgent.SERVER);
    assertThat(RootlessAgent.answer(port)).startsWith("hello");
  }

  @AfterEach
  void remove() throws Exception {
    agent.ok("rm", "-f", "web");
    assertThat(agent.keepers()).isEmpty();
    Awaitility.await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(catchThrowable(() -> RootlessAgent.answerNow(port)))
                    .isInstanceOf(ConnectException.class));
  }

  /** A connection out of a container to another host. */
  private static String outgoing() throws InterruptedException {
    return agent.ok("exec", "web", "sh", "-c", client(THERE, 7000));
  }

  /** Lets the server close first: pasta may lose what is sent after an early end of input. */
  private static String client(String address, int port) {
    return "sleep 2 | busybox nc -w 10 %s %d".formatted(address, port);
  }

  @Test
  void addressesOfClientsAreKept() throws Exception {
    int other = RootlessAgent.freePort();
    agent.ok(
        "run",
        "-d",
        "--name",
        "peers",
        "-p",
        other + ":80",
        "bb:1",
        "sh",
        "-c",
        "busybox nc -ll -p 80 -e cat /proc/net/tcp /proc/net/tcp6");
    try {
      RootlessAgent.answer(other);
      String table =
          Processes.check(there("sh", "-c", client(HERE, other)), Deadline.after(LIMIT)).stdout();
      assertThat(table).contains(hexadecimal(THERE) + ":");
    } finally {
      agent.ok("rm", "-f", "peers");
    }
    Awaitility.await().atMost(LIMIT).until(() -> outgoing().startsWith("outside"));
  }

  /** As the kernel writes it in its tables. */
  private static String hexadecimal(String address) {
    var text = new StringBuilder();
    for (String part : address.split("\\.", -1)) {
      text.insert(0, "%02X".formatted(Integer.parseInt(part)));
    }
    return text.toString().toUpperCase(Locale.ROOT);
  }

  /** What pasta shows to the agent's own network is not shown to those of containers. */
  @Test
  void servicesOnTheLoopbackOfTheHostAreClosedToContainers() throws Exception {
    try (var service = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        var scope = new TaskScope("loopback")) {
      scope.fork(
          () -> {
            try {
              while (true) {
                try (var accepted = service.accept()) {
                  accepted.getOutputStream().write("private\n".getBytes(StandardCharsets.UTF_8));
                }
              }
            } catch (IOException _) {
              return true; // closed
            }
          });
      int there = service.getLocalPort();
      Awaitility.await()
          .atMost(LIMIT)
          .until(
              () ->
                  agent
                      .zlayer(
                          "run",
                          "--rm",
                          "--network",
                          "host",
                          "bb:1",
                          "sh",
                          "-c",
                          client("127.0.0.1", there))
                      .stdout()
                      .contains("private"));
      String gateway =
          agent
              .ok(
                  "exec",
                  "web",
                  "sh",
                  "-c",
                  "busybox route -n | busybox awk '/^0.0.0.0/{print $2}'")
              .strip();
      assertThat(gateway).matches("[0-9.]+");
      String tries =
          "for a in %s 127.0.0.1 %s; do sleep 1 | busybox nc -w 2 $a %d; done"
              .formatted(gateway, HERE, there);
      assertThat(agent.zlayer("exec", "web", "sh", "-c", tries).stdout()).isEmpty();
      service.close();
    }
  }

  @Test
  void pastaIsStartedAgainWhenItIsKilled() throws Exception {
    agent.replaced("pasta.pid");
    assertThat(RootlessAgent.answer(port)).startsWith("hello");
    Awaitility.await().atMost(LIMIT).until(() -> outgoing().startsWith("outside"));
  }

  @Test
  void theNamespacesAreHeldByAnotherProcessWhenTheirHolderIsKilled() throws Exception {
    String before = namespaces(agent.recorded("rootless.holder"));
    agent.replaced("rootless.holder");
    assertThat(namespaces(agent.recorded("rootless.holder"))).isEqualTo(before);
    assertThat(RootlessAgent.answerNow(port)).startsWith("hello");
  }

  private static String namespaces(ProcessIdentity process) throws IOException {
    Path links = Path.of("/proc", String.valueOf(process.pid()), "ns");
    return Files.readSymbolicLink(links.resolve("user"))
        + " "
        + Files.readSymbolicLink(links.resolve("net"));
  }

  @Test
  void aPortIsBoundAgainWhenWhatKeepsItIsKilled() throws Exception {
    Map<String, ProcessIdentity> keepers = agent.keepers();
    assertThat(keepers).containsOnlyKeys("tcp/0.0.0.0/" + port);
    ProcessIdentity keeper = keepers.values().iterator().next();
    assertThat(keeper.signal(KILL)).isTrue();
    Awaitility.await()
        .atMost(LIMIT)
        .until(agent::keepers, now -> now.size() == 1 && !now.containsValue(keeper));
    assertThat(RootlessAgent.answer(port)).startsWith("hello");
  }

  /** Even the process that holds the namespaces may be killed meanwhile: others are there, too. */
  @Test
  void containersAndTheirPortsOutliveTheAgent() throws Exception {
    String before = agent.pid("web");
    agent.kill();
    assertThat(agent.recorded("rootless.holder").signal(KILL)).isTrue();
    answersForSeconds();
    agent.start();
    assertThat(agent.pid("web")).isEqualTo(before);
    assertThat(RootlessAgent.answerNow(port)).startsWith("hello");
    agent.stop();
    answersForSeconds();
    agent.start();
    assertThat(agent.pid("web")).isEqualTo(before);
    assertThat(RootlessAgent.answerNow(port)).startsWith("hello");
  }

  /** An agent that believed it would not bind the port on the host. */
  @Test
  void aContainerCannotPoseAsWhatKeepsAPort() throws Exception {
    int other = RootlessAgent.freePort();
    String name = "tcp/0.0.0.0/" + other;
    agent.ok(
        "run",
        "-d",
        "--name",
        "hostile",
        "-e",
        "ZLAYER_KEEPS_FOR=" + agent.run(),
        "-e",
        "ZLAYER_KEEPS_PORT=" + name,
        "bb:1",
        "sleep",
        "600");
    try {
      agent.kill();
      agent.start();
      assertThat(agent.keepers()).containsOnlyKeys("tcp/0.0.0.0/" + port);
      String published = other + ":80";
      agent.ok(
          "run", "-d", "--name", "late", "-p", published, "bb:1", "sh", "-c", RootlessAgent.SERVER);
      assertThat(RootlessAgent.answer(other)).startsWith("hello");
      assertThat(agent.keepers()).containsKey(name);
    } finally {
      agent.ok("rm", "-f", "late", "hostile");
    }
  }

  /** Longer than pasta needs to see that nobody listens any more. */
  private void answersForSeconds() {
    Awaitility.await()
        .during(Duration.ofSeconds(3))
        .atMost(LIMIT)
        .until(() -> RootlessAgent.answerNow(port).startsWith("hello"));
  }
}
