package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A port without an agent. */
final class PortKeeperIT {
  @TempDir private Path owner;

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1", "::1"})
  void listensUntilItIsEnded(String ip) throws IOException {
    var address = new InetSocketAddress(InetAddress.ofLiteral(ip), free(ip));
    ProcessIdentity keeper = PortKeeper.start(owner, false, address);
    try {
      assertThat(PortKeeper.find(owner))
          .isEqualTo(Map.of("tcp/%s/%d".formatted(ip, address.getPort()), keeper));
      assertThat(PortKeeper.find(owner.resolve("other"))).isEmpty();
      try (var socket = new Socket()) {
        socket.connect(address, 5000);
      }
      assertThatThrownBy(() -> PortKeeper.start(owner, false, address))
          .isInstanceOf(ErrnoException.class)
          .hasMessageContaining("bind tcp/" + ip);
    } finally {
      PortKeeper.end(keeper);
    }
    assertThat(keeper.alive()).isFalse();
    assertThat(PortKeeper.find(owner)).isEmpty();
    assertThatThrownBy(() -> new Socket(address.getAddress(), address.getPort()).close())
        .isInstanceOf(ConnectException.class);
  }

  @Test
  void keepsPortsForDatagramsToo() throws IOException {
    var address = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), free("127.0.0.1"));
    ProcessIdentity keeper = PortKeeper.start(owner, true, address);
    try {
      assertThat(PortOwner.find("udp", address.getPort()).orElseThrow().pid())
          .isEqualTo(keeper.pid());
    } finally {
      PortKeeper.end(keeper);
    }
    assertThat(PortOwner.find("udp", address.getPort())).isEmpty();
  }

  private static int free(String ip) throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.ofLiteral(ip))) {
      return socket.getLocalPort();
    }
  }
}
