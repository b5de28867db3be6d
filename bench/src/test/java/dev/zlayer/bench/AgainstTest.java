package dev.zlayer.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AgainstTest {
  @TempDir Path directory;

  @Test
  void everyTurnGivesARatioAndPeersTellTheNoise() throws Exception {
    measured("before/1", 40, 50);
    measured("now/1", 20, 50);
    measured("before/2", 44, 50);
    measured("now/2", 33, 55);

    Map<String, List<Report.Table>> tables = compare(List.of("before/1", "before/2"), "now");

    assertThat(tables).containsOnlyKeys("run");
    Report.Table table = tables.get("run").getFirst();
    assertThat(table.title()).isEqualTo("run true, in ms");
    assertThat(table.unit()).isEqualTo("times v1");
    assertThat(table.rows()).extracting(Report.Row::contestant).containsExactly("floor", "zlayer");
    assertThat(table.rows().getFirst().samples().values()).containsExactly(1.0, 1.1);
    assertThat(table.rows().getLast().samples().values()).containsExactly(0.5, 0.75);
    assertThat(table.rows().getLast().note()).isEqualTo("20.00, was 40.00; 0.63 times its CPU");
  }

  @Test
  void whatOneBuildDoesNotKnowIsNamed() throws Exception {
    measured("before/1", 40, 50);
    Files.createDirectories(directory.resolve("now/1"));

    Map<String, List<Report.Table>> tables = compare(List.of("before/1"), "now");

    assertThat(tables.get("run").getFirst().rows())
        .extracting(Report.Row::note)
        .containsOnly("not measured by both");
  }

  @Test
  void theResultIsPrintedAndKept() throws Exception {
    measured("before/1", 40, 50);
    measured("now/1", 20, 50);
    var out = new ByteArrayOutputStream();
    var report = new Report(directory.resolve("out"), new PrintStream(out), Json.object().build());

    compare(List.of("before/1"), "now").forEach(report::add);

    assertThat(out.toString(StandardCharsets.UTF_8))
        .contains("run true, in ms [times v1]")
        .containsPattern("zlayer +0.50");
    assertThat(directory.resolve("out/run.json")).content().contains("\"times v1\"");
    assertThat(directory.resolve("out/report.html")).content().contains("20.00, was 40.00");
  }

  private Map<String, List<Report.Table>> compare(List<String> before, String now)
      throws IOException {
    return new Against(
            "v1",
            before.stream().map(directory::resolve).toList(),
            before.stream().map(turn -> directory.resolve(turn.replace("before", now))).toList())
        .tables();
  }

  private void measured(String turn, double zlayer, double floor) {
    var report =
        new Report(
            directory.resolve(turn),
            new PrintStream(new ByteArrayOutputStream()),
            Json.object().build());
    var row = new Report.Row("zlayer", Samples.of(zlayer), OptionalDouble.of(zlayer / 1000), "");
    report.add(
        "run",
        List.of(
            new Report.Table(
                "run true",
                "ms",
                "floor",
                List.of(row, Report.Row.of("floor", Samples.of(floor))))),
        1,
        0);
  }
}
