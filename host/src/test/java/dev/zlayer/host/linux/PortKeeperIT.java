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
import java.util.List;
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
      assertThat(found(owner))
          .isEqualTo(Map.of("tcp/%s/%d".formatted(ip, address.getPort()), keeper));
      assertThat(found(owner.resolve("other"))).isEmpty();
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
    assertThat(found(owner)).isEmpty();
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

  /** Containers choose their environment. */
  @Test
  void processesElsewhereKeepNothingWhateverTheirEnvironmentSays() throws Exception {
    var builder =
        new ProcessBuilder(
            "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", "echo; exec sleep 60");
    builder.environment().put("ZLAYER_KEEPS_FOR", owner.toString());
    builder.environment().put("ZLAYER_KEEPS_PORT", "tcp/0.0.0.0/80");
    Process hostile = builder.start();
    try {
      assertThat(hostile.getInputStream().read()).as("it runs").isEqualTo('\n');
      assertThat(found(owner)).isEmpty();
      assertThat(PortKeeper.find(owner, UserNamespaces.of(hostile.pid())))
          .as("nothing else tells them apart")
          .containsOnlyKeys("tcp/0.0.0.0/80");
      assertThat(PortKeeper.find(owner, List.of())).as("an agent that never was").isEmpty();
    } finally {
      hostile.destroyForcibly().waitFor();
    }
  }

  private static Map<String, ProcessIdentity> found(Path owner) throws IOException {
    return PortKeeper.find(owner, UserNamespaces.of(ProcessHandle.current().pid()));
  }

  private static int free(String ip) throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.ofLiteral(ip))) {
      return socket.getLocalPort();
    }
  }
}
