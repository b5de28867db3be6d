package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerDetails.PortBinding;
import dev.zlayer.container.NetworkSpec.Port;
import dev.zlayer.container.NetworkSpec.Protocol;
import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class HostPortsTest {
  private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

  private final HostPorts ports = new HostPorts();

  @AfterEach
  void close() {
    ports.close();
  }

  @Test
  void keepsAPortFromOtherProgramsUntilItIsReleased() throws IOException {
    int number = ports.reserve("web", List.of(port(0, Protocol.TCP))).getFirst().hostPort();
    assertThatThrownBy(() -> new ServerSocket(number, 1, LOOPBACK).close())
        .isInstanceOf(IOException.class);

    ports.release("web");

    new ServerSocket(number, 1, LOOPBACK).close();
  }

  @Test
  void tcpAndUdpOfOneNumberAreTwoPorts() {
    int number = ports.reserve("tcp", List.of(port(0, Protocol.TCP))).getFirst().hostPort();
    assertThat(ports.reserve("udp", List.of(port(number, Protocol.UDP)))).hasSize(1);
  }

  @Test
  void oneCollisionFreesAllOfTheRequest() throws IOException {
    int taken = ports.reserve("first", List.of(port(0, Protocol.TCP))).getFirst().hostPort();
    int free;
    try (var probe = new ServerSocket(0, 1, LOOPBACK)) {
      free = probe.getLocalPort();
    }
    assertThatThrownBy(
            () ->
                ports.reserve(
                    "second", List.of(port(free, Protocol.TCP), port(taken, Protocol.TCP))))
        .isInstanceOf(AgentException.Network.class)
        .hasMessageContaining("'first'");
    assertThat(ports.reserve("third", List.of(port(free, Protocol.TCP)))).hasSize(1);
  }

  @Test
  void endedConnectionsOfAProgramThatIsGoneDoNotBlock() throws IOException {
    int number;
    try (var server = new ServerSocket(0, 5, LOOPBACK);
        var client = new Socket(LOOPBACK, server.getLocalPort());
        var accepted = server.accept()) {
      number = server.getLocalPort();
      accepted.close(); // the side that closes first is the one that lingers
      assertThat(client.getInputStream().read()).isEqualTo(-1);
    }
    assertThat(ports.reserve("web", List.of(port(number, Protocol.TCP)))).hasSize(1);
  }

  @Test
  void anAdoptedPortIsTakenEvenIfAnotherProgramBoundIt() throws IOException {
    try (var server = new ServerSocket(0, 5, LOOPBACK)) {
      int number = server.getLocalPort();
      ports.adopt("web", List.of(new PortBinding(LOOPBACK, number, 80, Protocol.TCP)));
      assertThatThrownBy(() -> ports.reserve("other", List.of(port(number, Protocol.TCP))))
          .hasMessageContaining("'web'");
    }
  }

  @Test
  void anAddressOfAnotherHostIsRefused() {
    InetAddress foreign = InetAddress.ofLiteral("203.0.113.7");
    assertThatThrownBy(
            () ->
                ports.reserve(
                    "web",
                    List.of(new Port(OptionalInt.empty(), 80, Protocol.TCP, Optional.of(foreign)))))
        .isInstanceOf(AgentException.Network.class)
        .hasMessageContaining("203.0.113.7");
  }

  private static Port port(int hostPort, Protocol protocol) {
    return new Port(
        hostPort == 0 ? OptionalInt.empty() : OptionalInt.of(hostPort),
        80,
        protocol,
        Optional.of(LOOPBACK));
  }
}
