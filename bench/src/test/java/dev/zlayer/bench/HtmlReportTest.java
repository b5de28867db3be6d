package dev.zlayer.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HtmlReportTest {
  @TempDir Path directory;

  @Test
  void onePageCarriesTheFiguresOfAllWorks() throws Exception {
    var report =
        new Report(
            directory,
            new PrintStream(new ByteArrayOutputStream()),
            Json.object().put("cpus", 2).build());
    report.add("run", List.of(table("run true", 80)), 1, 0.5);
    report.add("exec", List.of(table("exec <true>", 40)), 1, 0.5);

    String page = Files.readString(directory.resolve("report.html"));

    assertThat(page)
        .contains("<h2>exec</h2>", "<h2>run</h2>", "exec &lt;true&gt;")
        .contains("<td>zlayer<td>80.00<td>80.00<td>2.00")
        .contains("<td>peer<td><td><td><td><td>failed: no such file")
        .doesNotContain("http://", "https://", "<script");
  }

  private static Report.Table table(String title, double value) {
    return new Report.Table(
        title,
        "ms",
        "floor",
        List.of(
            Report.Row.of("floor", Samples.of(value / 2)),
            Report.Row.of("zlayer", Samples.of(value)),
            Report.Row.failed("peer", "failed: no such file")));
  }
}
