package dev.zlayer.cli.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a person is told when the daemon cannot be asked, and what to do about it. */
class DaemonAddressTest {
  @TempDir Path directory;

  private ConnectionLost explained(Path socket, IOException cause) {
    return DaemonAddress.local(socket).explain(new AgentException.Network("GET /ping", cause));
  }

  @Test
  void whoMayNotIsToldSo() throws IOException {
    Path socket = Files.createFile(directory.resolve("zlayer.sock"));

    ConnectionLost lost = explained(socket, new SocketException("Permission denied"));

    assertThat(lost)
        .isInstanceOf(DaemonNotRunning.class)
        .hasMessageContaining("permission denied")
        .hasMessageContaining(socket.toString())
        .hasMessageContaining("group");
    assertThat(lost.blame()).isEqualTo(Blame.SELF);
  }

  @Test
  void aSocketThatNobodyServesIsNoDaemon() throws IOException {
    Path stale = Files.createFile(directory.resolve("zlayer.sock"));

    assertThat(explained(stale, new ConnectException("Connection refused")))
        .isInstanceOf(DaemonNotRunning.class)
        .hasMessageContaining("zlayer daemon start");
    assertThat(explained(directory.resolve("none"), new SocketException("No such file")))
        .isInstanceOf(DaemonNotRunning.class)
        .hasMessageContaining("zlayer daemon start");
  }

  @Test
  void oneThatBreaksOffIsLostAndNotAbsent() throws IOException {
    Path socket = Files.createFile(directory.resolve("zlayer.sock"));

    ConnectionLost lost = explained(socket, new EOFException("closed"));

    assertThat(lost).isNotInstanceOf(DaemonNotRunning.class);
    assertThat(lost.blame()).isEqualTo(Blame.OUTSIDE);
  }
}
