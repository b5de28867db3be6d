package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class PacketSocketTest {
  /** Takes messages and reads none. */
  private static final String HANGS =
      "use Socket; $| = 1; socket(S, AF_UNIX, SOCK_DGRAM, 0) or die $!;"
          + " bind(S, sockaddr_un($ARGV[0])) or die $!; print \"ready\\n\"; sleep 60";

  @Test
  @Timeout(30)
  void whoeverDoesNotReadHoldsNobodyUp(@TempDir Path directory) throws Exception {
    String socket = directory.resolve("s").toString();
    Process listener = Processes.start(Command.of(List.of("perl", "-e", HANGS, socket)));
    try (BufferedReader told = listener.inputReader()) {
      assertThat(told.readLine()).isEqualTo("ready");
      PacketSocket.send(socket, "WATCHDOG=1");
      assertThatThrownBy(
              () -> {
                for (int i = 0; i < 100_000; i++) {
                  PacketSocket.send(socket, "WATCHDOG=1");
                }
              })
          .isInstanceOf(IOException.class)
          .hasMessageContaining("nobody reads from " + socket);
    } finally {
      listener.destroyForcibly();
    }
  }
}
