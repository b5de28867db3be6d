package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerDetails.PortBinding;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.NetworkSpec.Mode;
import dev.zlayer.container.NetworkSpec.Port;
import dev.zlayer.container.NetworkSpec.Protocol;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PublishedPortsIT {
  private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
  private static final InetAddress OTHER_LOOPBACK = InetAddress.ofLiteral("127.0.0.2");

  @TempDir Path directory;
  private NetworkConfig config;
  private NetworkLeaks leaks;
  private Networks networks;
  private final Inside inside = new Inside();

  @BeforeEach
  void open() throws Exception {
    config = NetworkLeaks.config(directory).withPoolSize(0);
    leaks = new NetworkLeaks(config);
    networks = Networks.open(config);
  }

  @AfterEach
  void destroy() throws Exception {
    inside.close();
    networks.close();
    leaks.destroy();
  }

  @Test
  void aTcpPortAnswersOnTheHostsAddressesUntilItIsDetached() throws Exception {
    int port = freePort();
    Attachment web = networks.attach("web", NetworkSpec.DEFAULT.withPorts(tcp(port, 80)));
    inside.tcp(web, 80, "hello");

    assertThat(web.ports())
        .containsExactly(new PortBinding(InetAddress.ofLiteral("0.0.0.0"), port, 80, Protocol.TCP));
    assertThat(Inside.ask(LOOPBACK, port)).isEqualTo("hello");
    assertThat(Inside.ask(web.gateway().orElseThrow(), port)).isEqualTo("hello");
    leaks.assertOnly(Set.of("web"), 1, 1);

    networks.detach("web");
    assertThat(Inside.ask(LOOPBACK, port)).startsWith("ConnectException");
    leaks.assertNone();
  }

  @Test
  void aUdpPortAnswers() throws Exception {
    Attachment echo =
        networks.attach(
            "echo",
            NetworkSpec.DEFAULT.withPorts(
                new Port(OptionalInt.empty(), 53, Protocol.UDP, Optional.empty())));
    inside.udp(echo, 53);

    int port = echo.ports().getFirst().hostPort();
    assertThat(Inside.askUdp(LOOPBACK, port, "ping")).isEqualTo("ping");
    assertThat(Inside.askUdp(echo.gateway().orElseThrow(), port, "pong")).isEqualTo("pong");
    leaks.assertOnly(Set.of("echo"), 1, 1);
  }

  @Test
  void aSteadySenderOfDatagramsMeetsTheReplacement() throws Exception {
    int port = freePort();
    var published = new Port(OptionalInt.of(port), 53, Protocol.UDP, Optional.empty());
    Attachment first = networks.attach("first", NetworkSpec.DEFAULT.withPorts(published));
    inside.udp(first, 53);
    try (var socket = new DatagramSocket()) {
      socket.connect(LOOPBACK, port);
      socket.setSoTimeout(30_000);
      assertThat(exchange(socket)).isEqualTo("ping");
      networks.detach("first");
      socket.setSoTimeout(2_000); // nobody is there to answer
      assertThat(exchange(socket)).isNotEqualTo("ping");
      socket.setSoTimeout(30_000);
      Attachment second = networks.attach("second", NetworkSpec.DEFAULT.withPorts(published));
      inside.udp(second, 53);
      assertThat(exchange(socket)).as("the same client on the same port").isEqualTo("ping");
    }
  }

  private static String exchange(DatagramSocket socket) {
    byte[] ping = "ping".getBytes(StandardCharsets.UTF_8);
    var answer = new DatagramPacket(new byte[100], 100);
    try {
      socket.send(new DatagramPacket(ping, ping.length));
      socket.receive(answer);
      return new String(answer.getData(), 0, answer.getLength(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      return e.getClass().getSimpleName();
    }
  }

  @Test
  void ephemeralPortsAreChosenAndReported() throws Exception {
    Attachment web =
        networks.attach("web", NetworkSpec.DEFAULT.withPorts(ephemeral(80), ephemeral(81)));
    inside.tcp(web, 81, "second");

    assertThat(web.ports()).extracting(PortBinding::hostPort).doesNotHaveDuplicates();
    assertThat(web.ports()).extracting(PortBinding::hostPort).allMatch(port -> port > 1023);
    assertThat(Inside.ask(LOOPBACK, web.ports().getLast().hostPort())).isEqualTo("second");
    assertThat(networks.find("web").orElseThrow().ports()).isEqualTo(web.ports());
  }

  @Test
  void aHostAddressNarrowsWhereItAnswers() throws Exception {
    int port = freePort();
    Attachment web =
        networks.attach("web", NetworkSpec.DEFAULT.withPorts(tcpOn(OTHER_LOOPBACK, port, 80)));
    inside.tcp(web, 80, "narrow");

    assertThat(Inside.ask(OTHER_LOOPBACK, port)).isEqualTo("narrow");
    assertThat(Inside.ask(LOOPBACK, port)).startsWith("ConnectException");
    Attachment other =
        networks.attach("other", NetworkSpec.DEFAULT.withPorts(tcpOn(LOOPBACK, port, 80)));
    inside.tcp(other, 80, "other");
    assertThat(Inside.ask(LOOPBACK, port)).isEqualTo("other");
    assertThat(Inside.ask(OTHER_LOOPBACK, port)).isEqualTo("narrow");
  }

  @Test
  void aPortThatIsTakenNamesItsHolder() throws Exception {
    int port = freePort();
    networks.attach("first", NetworkSpec.DEFAULT.withPorts(tcp(port, 80)));

    assertThatThrownBy(
            () -> networks.attach("second", NetworkSpec.DEFAULT.withPorts(tcp(port, 80))))
        .isInstanceOf(AgentException.Network.class)
        .hasMessage("port %d/tcp is already published by 'first'", port);
    assertThatThrownBy(
            () ->
                networks.attach("third", NetworkSpec.DEFAULT.withPorts(tcpOn(LOOPBACK, port, 80))))
        .hasMessageContaining("'first'");
    leaks.assertOnly(Set.of("first"), 1, 1);
  }

  @Test
  void aPortOfAnotherProgramIsRefusedAndNotHijacked() throws Exception {
    try (var server = new ServerSocket(0, 5, LOOPBACK)) {
      assertThatThrownBy(
              () ->
                  networks.attach(
                      "web", NetworkSpec.DEFAULT.withPorts(tcp(server.getLocalPort(), 80))))
          .isInstanceOf(AgentException.Network.class)
          .hasMessageContaining("port %d/tcp is already in use by", server.getLocalPort());
    }
    leaks.assertNone();
  }

  @Test
  void containersReachPublishedPortsAcrossNetworksAndTheirOwn() throws Exception {
    int port = freePort();
    Attachment web = networks.attach("web", NetworkSpec.DEFAULT.withPorts(tcp(port, 80)));
    Attachment sibling = networks.attach("sibling", NetworkSpec.DEFAULT);
    Attachment stranger =
        networks.attach("stranger", NetworkSpec.of(new Mode.Bridge(Optional.of("elsewhere"))));
    inside.tcp(web, 80, "public");

    assertThat(Inside.ask(stranger, stranger.gateway().orElseThrow(), port)).isEqualTo("public");
    assertThat(Inside.ask(sibling, sibling.gateway().orElseThrow(), port)).isEqualTo("public");
    assertThat(Inside.ask(web, web.gateway().orElseThrow(), port)).isEqualTo("public");
  }

  @Test
  void aContainerCannotReachWhatListensOnTheHostsLoopback() throws Exception {
    Attachment one = networks.attach("one", NetworkSpec.DEFAULT);
    InetAddress gateway = one.gateway().orElseThrow();
    try (var server = new ServerSocket(0, 5, LOOPBACK)) {
      for (String command :
          new String[] {
            "ip addr del 127.0.0.1/8 dev lo",
            "ip route add 127.0.0.1/32 via %s src %s"
                .formatted(gateway.getHostAddress(), one.ip().orElseThrow().getHostAddress())
          }) {
        assertThat(Inside.run(one, command.split(" ")).stderr()).isEmpty();
      }
      assertThat(
              Inside.run(one, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/eth0/route_localnet")
                  .stderr())
          .isEmpty();
      assertThat(connects(one, server, 2)).isFalse();
      Processes.check(
          Command.of("nft", "flush", "chain", "ip", config.prefix(), "guard"),
          Deadline.after(Duration.ofSeconds(10)));
      assertThat(connects(one, server, 30)).as("the attack works without the guard").isTrue();
    }
  }

  @Test
  void aFlushedRuleSetIsWrittenAnewByTheNextChange() throws Exception {
    int port = freePort();
    Attachment first = networks.attach("first", NetworkSpec.DEFAULT.withPorts(tcp(port, 80)));
    inside.tcp(first, 80, "first");
    Processes.check(
        Command.of("nft", "delete", "table", "ip", config.prefix()),
        Deadline.after(Duration.ofSeconds(10)));

    Attachment second = networks.attach("second", NetworkSpec.DEFAULT.withPorts(ephemeral(80)));
    inside.tcp(second, 80, "second");

    assertThat(Inside.ask(LOOPBACK, port)).isEqualTo("first");
    assertThat(Inside.ask(LOOPBACK, second.ports().getFirst().hostPort())).isEqualTo("second");
    networks.detach("first");
    leaks.assertOnly(Set.of("second"), 1, 1);
  }

  @Test
  void aNewAgentKeepsPortsOpenAndTheirNumbersTaken() throws Exception {
    int port = freePort();
    Attachment web = networks.attach("web", NetworkSpec.DEFAULT.withPorts(tcp(port, 80)));
    inside.tcp(web, 80, "still");
    networks.close();
    assertThat(Inside.ask(LOOPBACK, port)).isEqualTo("still");

    networks = Networks.open(config);

    assertThat(Inside.ask(LOOPBACK, port)).isEqualTo("still");
    assertThatThrownBy(() -> networks.attach("other", NetworkSpec.DEFAULT.withPorts(tcp(port, 80))))
        .hasMessageContaining("'web'");
    networks.detach("web");
    leaks.assertNone();
  }

  /** Its successor is made beside it, and publishes the port when it is free. */
  @Test
  void aPortPassesFromOneAttachedContainerToAnother() throws Exception {
    int port = freePort();
    Attachment first = networks.attach("first", NetworkSpec.DEFAULT);
    Attachment second = networks.attach("second", NetworkSpec.DEFAULT);
    inside.tcp(first, 80, "first");
    inside.tcp(second, 80, "second");

    networks.published().publish("first", List.of(tcp(port, 80)));
    assertThat(Inside.ask(LOOPBACK, port)).isEqualTo("first");
    assertThatThrownBy(() -> networks.published().publish("second", List.of(tcp(port, 80))))
        .hasMessage("port %d/tcp is already published by 'first'", port)
        .hasCauseInstanceOf(PortTaken.class);
    leaks.assertOnly(Set.of("first", "second"), 2, 1);
    networks.published().release("first");
    networks.published().release("first");
    assertThat(networks.find("first").orElseThrow().ports()).isEmpty();
    assertThat(Inside.ask(LOOPBACK, port)).startsWith("ConnectException");

    networks.published().publish("second", List.of(tcp(port, 80)));
    networks.published().publish("second", List.of(tcp(port, 80)));
    networks.close();
    networks = Networks.open(config);

    assertThat(Inside.ask(LOOPBACK, port)).isEqualTo("second");
    leaks.assertOnly(Set.of("first", "second"), 2, 1);
    networks.detach("first");
    networks.detach("second");
    leaks.assertNone();
  }

  @Test
  void aPreparedNamespaceGetsItsPortsToo() throws Exception {
    networks.close();
    networks = Networks.open(config.withPoolSize(1));
    org.awaitility.Awaitility.await().until(() -> networks.prepared() == 1);
    Attachment web = networks.attach("web", NetworkSpec.DEFAULT.withPorts(ephemeral(80)));
    inside.tcp(web, 80, "prepared");

    assertThat(Inside.ask(LOOPBACK, web.ports().getFirst().hostPort())).isEqualTo("prepared");
    networks.detach("web");
    networks.close();
    leaks.assertNone();
  }

  @Test
  void whatCannotBePublishedIsRefused() {
    assertThatThrownBy(
            () ->
                networks.attach(
                    "six",
                    NetworkSpec.DEFAULT.withPorts(
                        tcpOn(InetAddress.ofLiteral("::1"), freePort(), 80))))
        .isInstanceOf(AgentException.Unsupported.class);
    assertThatThrownBy(() -> networks.attach("none", NetworkSpec.NONE.withPorts(ephemeral(80))))
        .isInstanceOf(AgentException.InvalidSpec.class);
    leaks.assertNone();
  }

  private static boolean connects(Attachment from, ServerSocket server, int seconds)
      throws InterruptedException {
    return Inside.run(
            from,
            "timeout",
            Integer.toString(seconds),
            "busybox",
            "nc",
            "-w",
            Integer.toString(seconds),
            "127.0.0.1",
            Integer.toString(server.getLocalPort()),
            "-e",
            "/bin/true")
        .success();
  }

  private static Port tcp(int hostPort, int containerPort) {
    return new Port(OptionalInt.of(hostPort), containerPort, Protocol.TCP, Optional.empty());
  }

  private static Port tcpOn(InetAddress ip, int hostPort, int containerPort) {
    return new Port(OptionalInt.of(hostPort), containerPort, Protocol.TCP, Optional.of(ip));
  }

  private static Port ephemeral(int containerPort) {
    return new Port(OptionalInt.empty(), containerPort, Protocol.TCP, Optional.empty());
  }

  private static int freePort() throws Exception {
    try (var probe = new ServerSocket(0)) {
      return probe.getLocalPort();
    }
  }
}
