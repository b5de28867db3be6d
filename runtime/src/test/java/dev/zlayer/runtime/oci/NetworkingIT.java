package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.NetworkSpec.Mode;
import dev.zlayer.container.NetworkSpec.Protocol;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.runtime.cni.Inside;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How containers are connected, seen from inside. */
class NetworkingIT extends OnStage {
  @Test
  void namesAndServersAreAsAsked() throws Exception {
    var network =
        new NetworkSpec(
            new Mode.None(),
            Optional.of("box"),
            List.of(),
            List.of(InetAddress.ofLiteral("192.0.2.53")),
            List.of("example.test"),
            Map.of("db", "192.0.2.1"));
    assertThat(
            fixture.output(
                RuntimeFixture.script("hostname; cat /etc/hostname /etc/resolv.conf /etc/hosts")
                    .withNetwork(network)))
        .startsWith("box\nbox\n")
        .contains("nameserver 192.0.2.53\nsearch example.test")
        .contains("192.0.2.1\tdb", "127.0.0.1\tlocalhost", "\tbox");
  }

  @Test
  void withoutANetworkThereIsLoopbackOnly() throws Exception {
    assertThat(
            fixture.output(
                RuntimeFixture.script("ls /sys/class/net; ip -o addr | grep -c 127.0.0.1")))
        .isEqualTo("lo\n1");
  }

  @Test
  void aBridgeGivesAnAddressThatTheProcessHasFromTheStart() throws Exception {
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(),
            RuntimeFixture.script("ip -o -4 addr show eth0; cat /etc/hosts; sleep 300")
                .withNetwork(
                    new NetworkSpec(
                        new Mode.Bridge(Optional.empty()),
                        Optional.empty(),
                        List.of(),
                        List.of(),
                        List.of(),
                        Map.of("outside", "host-gateway"))));
    container.start();
    String ip = container.ip().orElseThrow().getHostAddress();
    Awaitility.await()
        .untilAsserted(
            () ->
                assertThat(RuntimeFixture.text(container))
                    .contains(ip + "/", ip + "\t" + container.id().runtimeName())
                    .containsPattern("10\\.[0-9.]+\toutside"));
    container.remove(true);
  }

  @Test
  void publishedPortsAreReachableAndReported() throws Exception {
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(),
            server("hello")
                .withNetwork(
                    NetworkSpec.DEFAULT.withPorts(
                        new NetworkSpec.Port(
                            OptionalInt.empty(), 80, Protocol.TCP, Optional.empty()))));
    container.start();
    var port = container.ports().getFirst();
    assertThat(port.containerPort()).isEqualTo(80);
    assertThat(port.hostPort()).isPositive();
    Awaitility.await()
        .ignoreExceptions()
        .until(() -> ask(InetAddress.getLoopbackAddress(), port.hostPort()).equals("hello"));
    container.remove(true);
  }

  @Test
  void aContainerHasItsPortsWhileItRuns() throws Exception {
    int number;
    try (var free = new java.net.ServerSocket(0)) {
      number = free.getLocalPort();
    }
    var network =
        NetworkSpec.DEFAULT.withPorts(
            new NetworkSpec.Port(OptionalInt.of(number), 80, Protocol.TCP, Optional.empty()));
    Container old = fixture.runtime.create(RuntimeFixture.id(), server("old").withNetwork(network));
    Container next =
        fixture.runtime.create(RuntimeFixture.id(), server("next").withNetwork(network));
    try {
      assertThat(old.ports()).isEmpty();
      old.start();
      assertThatThrownBy(next::start)
          .isInstanceOf(AgentException.Network.class)
          .hasMessageContaining("port %d/tcp is already published by", number);
      assertThat(next.ports()).isEmpty();
      old.stop(Duration.ZERO);
      assertThat(old.ports()).isEmpty();
      next.start();
      Awaitility.await()
          .ignoreExceptions()
          .until(() -> ask(InetAddress.getLoopbackAddress(), number).equals("next"));
    } finally {
      old.remove(true);
      next.remove(true);
    }
  }

  @Test
  void portsCanBeOfUdpAndOnOneAddressOfTheHost() throws Exception {
    var lonely = InetAddress.ofLiteral("127.0.0.2");
    var network =
        NetworkSpec.DEFAULT.withPorts(
            new NetworkSpec.Port(OptionalInt.empty(), 53, Protocol.UDP, Optional.empty()),
            new NetworkSpec.Port(OptionalInt.empty(), 80, Protocol.TCP, Optional.of(lonely)),
            new NetworkSpec.Port(OptionalInt.empty(), 80, Protocol.TCP, Optional.empty()));
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(), RuntimeFixture.spec("sleep", "300").withNetwork(network));
    Container peer =
        fixture.runtime.create(
            RuntimeFixture.id(),
            RuntimeFixture.spec("sleep", "300").withNetwork(NetworkSpec.DEFAULT));
    try (var inside = new Inside()) {
      container.start();
      var own = fixture.networks.find(container.id().runtimeName()).orElseThrow();
      var other = fixture.networks.find(peer.id().runtimeName()).orElseThrow();
      inside.udp(own, 53);
      inside.tcp(own, 80, "hello");
      int udp = container.ports().get(0).hostPort();
      int lonelyPort = container.ports().get(1).hostPort();
      int open = container.ports().get(2).hostPort();
      InetAddress gateway = own.gateway().orElseThrow();

      assertThat(Inside.askUdp(InetAddress.getLoopbackAddress(), udp, "echo")).isEqualTo("echo");
      assertThat(Inside.ask(lonely, lonelyPort)).isEqualTo("hello");
      assertThat(Inside.ask(InetAddress.getLoopbackAddress(), lonelyPort)).isNotEqualTo("hello");
      assertThat(Inside.ask(other, gateway, open)).isEqualTo("hello");
      assertThat(Inside.silent(other, gateway, lonelyPort)).isTrue();
    } finally {
      container.remove(true);
      peer.remove(true);
    }
  }

  @Test
  void behindSystemdResolvedContainersAskTheServersThatItAsks(@TempDir Path other)
      throws Exception {
    Path loopback = Files.writeString(other.resolve("stub.conf"), "nameserver 127.0.0.53\n");
    Path behind = Files.writeString(other.resolve("resolv.conf"), "nameserver 192.0.2.53\n");
    var servers = new OciSettings.NameServers(loopback, behind, false);
    try (RuntimeFixture resolved =
        RuntimeFixture.open(
            other.resolve("stage"), OciSettings.DEFAULT.withNameServers(servers), Faults.NONE)) {
      assertThat(resolved.output(RuntimeFixture.script("cat /etc/resolv.conf")))
          .isEqualTo("nameserver 192.0.2.53");
    }
  }

  @Test
  void theHostsNetworkIsTheHosts() throws Exception {
    String own =
        java.nio.file.Files.readSymbolicLink(java.nio.file.Path.of("/proc/self/ns/net")).toString();
    assertThat(
            fixture.output(
                RuntimeFixture.script("readlink /proc/self/ns/net")
                    .withNetwork(NetworkSpec.of(new Mode.Host()))))
        .isEqualTo(own);
  }

  @Test
  void aSharedNetworkIsOneHost() throws Exception {
    for (NetworkSpec network : List.of(NetworkSpec.DEFAULT, NetworkSpec.NONE)) {
      Container owner =
          fixture.runtime.create(
              RuntimeFixture.id(), server("shared").withNetwork(network.withHostname("one")));
      owner.start();
      var guest = NetworkSpec.of(new Mode.Shared(owner.id()));
      assertThat(
              fixture.output(
                  RuntimeFixture.script(
                          "hostname; until nc 127.0.0.1 80 </dev/null; do sleep 0.05; done; grep -c"
                              + " one /etc/hosts")
                      .withNetwork(guest)))
          .isEqualTo("one\nshared\n1");
      owner.remove(true);
    }
  }

  @Test
  void onlyABridgePublishesPorts() {
    var port = new NetworkSpec.Port(OptionalInt.of(1), 1, Protocol.TCP, Optional.empty());
    assertThatThrownBy(
            () ->
                fixture.run(
                    RuntimeFixture.spec("true").withNetwork(NetworkSpec.NONE.withPorts(port))))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }

  private static ContainerSpec server(String answer) {
    return RuntimeFixture.script("while true; do echo " + answer + " | nc -l -p 80; done");
  }

  private static String ask(InetAddress host, int port) throws Exception {
    try (var socket = new Socket(host, port)) {
      socket.shutdownOutput();
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    }
  }
}
