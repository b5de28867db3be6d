package dev.zlayer.cli.print;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ControlEscaperTest {
  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }

  private static String shown(String printed) {
    return text(new ControlEscaper().print(bytes(printed), true));
  }

  @Test
  void textAndColoursPass() {
    for (String harmless :
        List.of("plain\ttext", "\033[31mred\033[0m", "\033[1;38:5:9mfat\033[m", "windows\r")) {
      assertThat(shown(harmless)).isEqualTo(harmless);
    }
  }

  @Test
  void whatATerminalWouldObeyIsShown() {
    assertThat(shown("\033[2Jclear")).isEqualTo("\\x1b[2Jclear");
    assertThat(shown("\033]0;title\007")).isEqualTo("\\x1b]0;title\\x07");
    assertThat(shown("\033\033[31m")).isEqualTo("\\x1b\033[31m");
    assertThat(shown("\033c")).isEqualTo("\\x1bc");
    assertThat(shown("one\rtwo")).isEqualTo("one\\rtwo");
    assertThat(shown("a\0b\177")).isEqualTo("a\\x00b\\x7f");
    assertThat(shown("\033[31")).isEqualTo("\\x1b[31");
    assertThat(shown("\033[" + "1;".repeat(40) + "m")).startsWith("\\x1b[1;");
  }

  @Test
  void charactersPassAndWhatIsNoneIsShown() {
    byte[] utf8 = "grün 漢 😀".getBytes(StandardCharsets.UTF_8);
    assertThat(new ControlEscaper().print(utf8, true)).isEqualTo(utf8);
    assertThat(text(new ControlEscaper().print(bytes("\u00ff\u00c3x"), true)))
        .isEqualTo("\\xff\\xc3x");
    // a terminal may take this character for the beginning of a sequence
    assertThat(text(new ControlEscaper().print(bytes("\u00c2\u009b2J"), true)))
        .isEqualTo("\\xc2\\x9b2J");
  }

  @Test
  void itDoesNotMatterHowOutputIsCutIntoPieces() {
    var random = new Random(11);
    byte[] alphabet = bytes("\033[[0;1mmJx\r\t\0\u00c3\u00a4\u00e2\u0082\u00ac\u00ff");
    for (int round = 0; round < 3000; round++) {
      byte[] output = new byte[random.nextInt(40)];
      for (int i = 0; i < output.length; i++) {
        output[i] = alphabet[random.nextInt(alphabet.length)];
      }
      byte[] whole = new ControlEscaper().print(output, true);
      var pieces = new ByteArrayOutputStream();
      var escaper = new ControlEscaper();
      for (int at = 0; at < output.length; ) {
        int end = Math.min(output.length, at + 1 + random.nextInt(5));
        pieces.writeBytes(escaper.print(Arrays.copyOfRange(output, at, end), false));
        at = end;
      }
      pieces.writeBytes(escaper.end());
      assertThat(pieces.toByteArray()).as("round %d", round).isEqualTo(whole);
      assertThat(text(whole).replaceAll("\033\\[[0-9;:]*m", "").replaceAll("\r$", ""))
          .as("round %d", round)
          .doesNotContain("\033", "\0", "\r");
    }
  }
}
