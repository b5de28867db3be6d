package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class ProcessFactsTest {
  private static final String STAT =
      "42 (a) b (c) S 7 42 42 34816 42 4194560 10 0 0 0 150 50 0 0 20 0 1 0 12345 0 0 184467";

  @Test
  void readsANameWithParenthesesAndBlanks() {
    ProcessFacts facts = ProcessFacts.parse(STAT, List.of("Uid:\t5\t6\t7\t8"), new byte[0], 1000);
    assertThat(facts)
        .isEqualTo(
            new ProcessFacts(
                42,
                7,
                6,
                Duration.ofSeconds(2),
                Instant.ofEpochMilli(1_000_000 + 123_450),
                34816,
                "[a) b (c]"));
  }

  @Test
  void showsTheArguments() {
    byte[] arguments = "sh\0-c\0x y\0".getBytes(StandardCharsets.UTF_8);
    assertThat(ProcessFacts.parse(STAT, List.of(), arguments, 0).command()).isEqualTo("sh -c x y");
  }

  @Test
  void aLongCommandLineIsCut() throws Exception {
    Process process =
        new ProcessBuilder("sh", "-c", "read x", "y".repeat(100_000), "z".repeat(100_000)).start();
    try {
      assertThat(ProcessFacts.find(process.pid()).orElseThrow().command())
          .startsWith("sh -c read x yyy")
          .endsWith("yyy...")
          .hasSize(ProcessFacts.SHOWN_BYTES + 3);
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  @Test
  void knowsThisProcessAndNoOther() throws Exception {
    long pid = ProcessHandle.current().pid();
    ProcessFacts facts = ProcessFacts.find(pid).orElseThrow();
    assertThat(facts.pid()).isEqualTo(pid);
    assertThat(facts.command()).contains("java");
    assertThat(ProcessFacts.find(Integer.MAX_VALUE)).isEmpty();
  }

  @Test
  void sumsTheInterfacesButLoopback() {
    List<String> lines =
        List.of(
            "Inter-|   Receive                            |  Transmit",
            " face |bytes    packets errs drop fifo frame compressed multicast|bytes packets",
            "    lo:  999 9 0 0 0 0 0 0  999 9 0 0 0 0 0 0",
            "  eth0:1000 5 0 0 0 0 0 0  200 3 0 0 0 0 0 0",
            "  eth1:   1 5 0 0 0 0 0 0    2 3 0 0 0 0 0 0");
    assertThat(NetworkUsage.parse(lines)).isEqualTo(new NetworkUsage(1001, 202));
  }
}
