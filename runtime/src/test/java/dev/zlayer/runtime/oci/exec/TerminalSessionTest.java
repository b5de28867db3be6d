package dev.zlayer.runtime.oci.exec;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class TerminalSessionTest {
  @Test
  void everyLineEndsWithOneReturnHoweverItIsCut() {
    var lines = new TerminalSession.LineEnds();

    assertThat(returned(lines, "one\ntwo\r\n")).isEqualTo("one\r\ntwo\r\n");
    assertThat(returned(lines, "\n\nthree\r")).isEqualTo("\r\n\r\nthree\r");
    assertThat(returned(lines, "\n10%\r20%")).isEqualTo("\n10%\r20%");
    assertThat(returned(lines, "")).isEmpty();
  }

  private static String returned(TerminalSession.LineEnds lines, String text) {
    byte[] bytes = lines.returned(text.getBytes(StandardCharsets.ISO_8859_1));
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }
}
