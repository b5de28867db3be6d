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

  private final HostPorts ports = new HostPorts("zt");

  @AfterEach
  void close() {
    ports.close();
  }

  @Test
  void keepsAPortFromOtherProgramsUntilItIsReleased() throws IOException {
    int number = reserve("web", List.of(port(0, Protocol.TCP))).getFirst().hostPort();
    assertThatThrownBy(() -> new ServerSocket(number, 1, LOOPBACK).close())
        .isInstanceOf(IOException.class);

    ports.release("web");

    new ServerSocket(number, 1, LOOPBACK).close();
  }

  @Test
  void tcpAndUdpOfOneNumberAreTwoPorts() {
    int number = reserve("tcp", List.of(port(0, Protocol.TCP))).getFirst().hostPort();
    assertThat(reserve("udp", List.of(port(number, Protocol.UDP)))).hasSize(1);
  }

  @Test
  void oneCollisionFreesAllOfTheRequest() throws IOException {
    int taken = reserve("first", List.of(port(0, Protocol.TCP))).getFirst().hostPort();
    int free;
    try (var probe = new ServerSocket(0, 1, LOOPBACK)) {
      free = probe.getLocalPort();
    }
    assertThatThrownBy(
            () -> reserve("second", List.of(port(free, Protocol.TCP), port(taken, Protocol.TCP))))
        .isInstanceOf(AgentException.Network.class)
        .hasMessageContaining("'first'");
    assertThat(reserve("third", List.of(port(free, Protocol.TCP)))).hasSize(1);
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
    assertThat(reserve("web", List.of(port(number, Protocol.TCP)))).hasSize(1);
  }

  @Test
  void anAdoptedPortIsTakenEvenIfAnotherProgramBoundIt() throws IOException {
    try (var server = new ServerSocket(0, 5, LOOPBACK)) {
      int number = server.getLocalPort();
      ports.adopt("web", List.of(new PortBinding(LOOPBACK, number, 80, Protocol.TCP)));
      assertThatThrownBy(() -> reserve("other", List.of(port(number, Protocol.TCP))))
          .hasMessageContaining("'web'");
    }
  }

  @Test
  void anAddressOfAnotherHostIsRefused() {
    InetAddress foreign = InetAddress.ofLiteral("203.0.113.7");
    assertThatThrownBy(
            () ->
                reserve(
                    "web",
                    List.of(new Port(OptionalInt.empty(), 80, Protocol.TCP, Optional.of(foreign)))))
        .isInstanceOf(AgentException.Network.class)
        .hasMessageContaining("203.0.113.7");
  }

  @Test
  void withoutAnAddressBothKindsArePublished() throws IOException {
    List<PortBinding> bindings = reserve("web", List.of(everywhere(OptionalInt.empty())), true);

    int number = bindings.getFirst().hostPort();
    assertThat(bindings)
        .containsExactly(
            new PortBinding(HostPorts.ANY, number, 80, Protocol.TCP),
            new PortBinding(HostPorts.ANY_IPV6, number, 80, Protocol.TCP));
    assertThatThrownBy(() -> new ServerSocket(number, 1, InetAddress.ofLiteral("::1")).close())
        .isInstanceOf(IOException.class);
    ports.release("web");
    new ServerSocket(number, 1, InetAddress.ofLiteral("::1")).close();
  }

  @Test
  void aPortWhoseIpv6HalfIsTakenIsRefusedWhole() throws IOException {
    try (var other = new ServerSocket(0, 1, InetAddress.ofLiteral("::1"))) {
      int number = other.getLocalPort();
      assertThatThrownBy(() -> reserve("web", List.of(everywhere(OptionalInt.of(number))), true))
          .isInstanceOf(AgentException.Network.class)
          .hasMessageContaining("port " + number + "/tcp is already in use by");
      assertThat(reserve("web", List.of(port(number, Protocol.TCP)))).hasSize(1);
    }
  }

  @Test
  void anIpv6AddressNeedsANetworkWithSuchAddresses() {
    var loopback = Optional.of(InetAddress.ofLiteral("::1"));
    var tcp = new Port(OptionalInt.empty(), 80, Protocol.TCP, loopback);
    var udp = new Port(OptionalInt.empty(), 80, Protocol.UDP, loopback);
    assertThatThrownBy(() -> reserve("web", List.of(tcp)))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("publishing on ::1: the container's network has no IPv6 addresses");
    assertThat(reserve("dns", List.of(udp), true)).hasSize(1);
    assertThat(reserve("web", List.of(tcp), true)).hasSize(1);
  }

  private static Port everywhere(OptionalInt number) {
    return new Port(number, 80, Protocol.TCP, Optional.empty());
  }

  private List<PortBinding> reserve(String owner, List<Port> wanted) {
    return reserve(owner, wanted, false);
  }

  private List<PortBinding> reserve(String owner, List<Port> wanted, boolean ipv6) {
    try {
      return ports.reserve(owner, wanted, () -> ipv6);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static Port port(int hostPort, Protocol protocol) {
    return new Port(
        hostPort == 0 ? OptionalInt.empty() : OptionalInt.of(hostPort),
        80,
        protocol,
        Optional.of(LOOPBACK));
  }
}
