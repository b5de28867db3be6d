package dev.zlayer.cli.print;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.cli.client.Output;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullEvent.Step;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PrintTest {
  private static final Digest LAYER = new Digest("sha256", "ab".repeat(32));

  @ParameterizedTest
  @CsvSource({
    "0, 0 B",
    "1023, 1023 B",
    "1024, 1.0 KiB",
    "1536, 1.5 KiB",
    "104857600, 100 MiB",
    "1099511627776, 1.0 TiB",
    "9223372036854775807, 8.0 EiB"
  })
  void sizesInTheUnitAPersonWouldChoose(long bytes, String text) {
    assertThat(HumanUnits.bytes(bytes)).isEqualTo(text);
  }

  @ParameterizedTest
  @CsvSource({
    "1, 1 second ago", "59, 59 seconds ago", "3599, 59 minutes ago", "7200, 2 hours ago",
    "172800, 2 days ago", "7776000, 3 months ago", "94608000, 3 years ago", "-5, in the future"
  })
  void agesInTheUnitAPersonWouldChoose(long seconds, String text) {
    Instant now = Instant.parse("2026-01-01T00:00:00Z");
    assertThat(HumanUnits.age(now.minusSeconds(seconds), now)).isEqualTo(text);
  }

  @Test
  void tablesAlignWithoutTrailingBlanks() {
    assertThat(new Table("NAME", "SIZE").row("a", "1").row("longer", ""))
        .hasToString("NAME    SIZE\na       1\nlonger\n");
    assertThatThrownBy(() -> new Table("A").row("1", "2"))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aPlainPullPrintsALinePerFinishedLayerAndNotice() {
    var text = new StringBuilder();
    try (var view = PullView.of(text::append, false)) {
      view.accept(new PullEvent.Resolved(LAYER, 1, 2048));
      view.accept(new PullEvent.LayerProgress(LAYER, Step.WAITING, 0, 2048));
      view.accept(new PullEvent.LayerProgress(LAYER, Step.DOWNLOADING, 1024, 2048));
      view.accept(new PullEvent.Notice("mirror x did not answer"));
      view.accept(new PullEvent.LayerProgress(LAYER, Step.DONE, 2048, 2048));
    }
    assertThat(text)
        .hasToString(
            """
            resolved %s: 1 layer, 2.0 KiB
            mirror x did not answer
            abababababab: done, 2.0 KiB
            """
                .formatted(LAYER));
  }

  @Test
  void aLivePullDrawsOverItselfAndLeavesTheSummary() {
    var text = new StringBuilder();
    try (var view = PullView.of(text::append, true)) {
      view.accept(new PullEvent.Resolved(LAYER, 1, 2048));
      view.accept(new PullEvent.Notice("slow down"));
      view.accept(new PullEvent.LayerProgress(LAYER, Step.DOWNLOADING, 1024, 2048));
      view.accept(new PullEvent.Notice("go on"));
      view.accept(new PullEvent.LayerProgress(LAYER, Step.DONE, 2048, 2048));
    }
    assertThat(text.toString())
        .contains("downloading [############            ] 1.0 KiB of 2.0 KiB")
        .contains("\033[2A")
        .endsWith("\033[J1 of 1 layers, 2.0 KiB of 2.0 KiB\n");
  }

  @Test
  void aGapInALogIsReportedOnStandardErrorOnly() {
    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    var printer = new LogPrinter(new PrintStream(out), new PrintStream(err), false, false);
    byte[] line = {'a'};
    printer.source().print(new Output(Optional.empty(), false, line, false, true));
    printer.source("web").print(new Output(Optional.empty(), false, line, false, true));
    assertThat(out.toString()).isEqualTo("a\nweb | a\n");
    assertThat(err.toString())
        .isEqualTo(
            """
            zlayer: output before this point is missing or may be: the log was rotated
            zlayer: web: output before this point is missing or may be: the log was rotated
            """);
  }
}
