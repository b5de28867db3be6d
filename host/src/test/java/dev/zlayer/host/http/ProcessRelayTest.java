package dev.zlayer.host.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.util.Scanner;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ProcessRelayTest {
  /** As ssh does that leaves its master behind, which keeps the streams of the first one. */
  @Test
  @Timeout(30)
  void aChildThatKeepsTheErrorsOpenIsNotWaitedFor() throws Exception {
    String script = "sleep 300 & echo $!; echo 'it broke' >&2; exit 3";
    ProcessRelay relay = ProcessRelay.start(Command.of("sh", "-c", script));
    try (var near = relay.channel();
        var lines = new Scanner(Channels.newInputStream(near), StandardCharsets.UTF_8)) {
      long child = Long.parseLong(lines.nextLine());
      try {
        assertThat(relay.failure()).contains("it broke");
      } finally {
        assertThat(ProcessHandle.of(child).orElseThrow().destroyForcibly()).isTrue();
      }
    }
  }
}
