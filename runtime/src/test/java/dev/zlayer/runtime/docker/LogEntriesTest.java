package dev.zlayer.runtime.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.LogRecord;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class LogEntriesTest {
  private static final String TIME = "2026-01-02T03:04:05.000000006Z ";

  @Test
  void framesAreLinesOfTwoStreams() throws IOException {
    var bytes = new ByteArrayOutputStream();
    frame(bytes, 1, TIME + "out\n");
    frame(bytes, 2, TIME + "\n");
    frame(bytes, 1, TIME + "rest");
    var entries = LogEntries.of(new ByteArrayInputStream(bytes.toByteArray()), false);
    LogRecord out = entries.next().orElseThrow();
    assertThat(out.text()).isEqualTo("out");
    assertThat(out.time()).isEqualTo(Instant.parse(TIME.strip()));
    assertThat(out.partial()).isFalse();
    LogRecord error = entries.next().orElseThrow();
    assertThat(error.stream()).isEqualTo(LogRecord.Stream.STDERR);
    assertThat(error.bytes()).isEmpty();
    assertThat(entries.next().orElseThrow().partial()).isTrue();
    assertThat(entries.next()).isEmpty();
  }

  @Test
  void aTerminalHasLinesAndLongParts() throws IOException {
    String part = "x".repeat(16 << 10);
    String text = TIME + "a b\r\n" + TIME + part + TIME + "end\n" + TIME + "rest";
    var entries =
        LogEntries.of(new ByteArrayInputStream(text.getBytes(StandardCharsets.ISO_8859_1)), true);
    assertThat(entries.next().orElseThrow().text()).isEqualTo("a b\r");
    LogRecord first = entries.next().orElseThrow();
    assertThat(first.text()).isEqualTo(part);
    assertThat(first.partial()).isTrue();
    assertThat(entries.next().orElseThrow().text()).isEqualTo("end");
    assertThat(entries.next().orElseThrow().text()).isEqualTo("rest");
    assertThat(entries.next()).isEmpty();
  }

  @Test
  void whatIsCutOffOrOddIsNoOutput() throws IOException {
    var cut = new ByteArrayOutputStream();
    frame(cut, 1, TIME + "out\n");
    var half = LogEntries.of(new ByteArrayInputStream(cut.toByteArray(), 0, cut.size() - 3), false);
    assertThatThrownBy(half::next).isInstanceOf(IOException.class);
    var huge =
        LogEntries.of(
            new ByteArrayInputStream(new byte[] {1, 0, 0, 0, (byte) 0x7f, 0, 0, 0}), false);
    assertThatThrownBy(huge::next).isInstanceOf(IOException.class);
    var timeless = new ByteArrayOutputStream();
    frame(timeless, 1, "no time here\n");
    var odd = LogEntries.of(new ByteArrayInputStream(timeless.toByteArray()), false);
    assertThatThrownBy(odd::next).isInstanceOf(IOException.class);
  }

  private static void frame(ByteArrayOutputStream out, int stream, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
    var data = new DataOutputStream(out);
    data.write(new byte[] {(byte) stream, 0, 0, 0});
    data.writeInt(bytes.length);
    data.write(bytes);
  }
}
