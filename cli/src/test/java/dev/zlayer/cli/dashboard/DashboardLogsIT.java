package dev.zlayer.cli.dashboard;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Download;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.options.AriaRole;
import dev.zlayer.cli.CliFixture;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Search over kept output: on the command line and in a real browser. */
class DashboardLogsIT extends DashboardFixture {
  /** Some megabytes with three lines that are looked for. */
  private static final String CHATTER =
      """
      i=0
      while [ $i -lt 40 ]; do
        awk "BEGIN { for (j = 1; j <= 2000; j++) print \\"$i request \\" j \\" is served with status 200\\" }"
        i=$((i + 1))
        [ $i = 7 ] && echo 'the Disk is full'
        [ $i = 21 ] && echo 'no disk is FULL of %s' >&2
      done
      echo a key: hunter2-value
      echo the disk is empty
      echo done
      """
          .formatted(MARKUP);

  /** By a container of the class: some megabytes take their time. */
  private static void printed() {
    if (daemon.cli().run("inspect", "long").code() != 0) {
      daemon.cli().runWithInput("hunter2-value".getBytes(UTF_8), "secret", "set", "key");
      daemon.ok("run", "--name", "long", "bb:1", "sh", "-c", CHATTER);
    }
  }

  @Test
  void keptOutputIsSearchedOnTheCommandLine() throws IOException {
    printed();
    List<String> all = daemon.ok("logs", "long").lines().toList();
    assertThat(all).hasSize(80_004);

    for (String text :
        List.of("disk is", "Disk", "7 request 1999 ", "200", "nowhere", "[secret]")) {
      assertThat(daemon.ok("logs", "--grep", text, "long").lines())
          .as(text)
          .containsExactlyElementsOf(all.stream().filter(line -> line.contains(text)).toList());
    }
    CliFixture.Result both = daemon.cli().run("logs", "-i", "-g", "disk is full", "long");
    assertThat(both.out()).isEqualTo("the Disk is full\n");
    assertThat(both.err()).isEqualTo("no disk is FULL of " + MARKUP + "\n");
    assertThat(daemon.ok("logs", "-g", "request 7 ", "-n", "1", "long"))
        .startsWith("39 request 7 ");
    assertThat(daemon.ok("logs", "-f", "-g", "Disk", "long")).isEqualTo("the Disk is full\n");
    // who searches for a secret must not learn that it is there
    assertThat(daemon.ok("logs", "--grep", "hunter2", "long")).isEmpty();
    assertThat(indexes()).isNotEmpty();
    for (Path index : indexes()) {
      Files.write(index, new byte[100]);
    }
    assertThat(daemon.ok("logs", "--grep", "the Disk", "long")).isEqualTo("the Disk is full\n");

    assertThat(daemon.cli().run("logs", "-f", "-n", "3", "-g", "x", "long").err())
        .contains("not both");
    assertThat(daemon.cli().run("logs", "-i", "long").err()).contains("--grep");
  }

  private static List<Path> indexes() throws IOException {
    try (Stream<Path> files = Files.walk(daemon.dataDirectory().resolve("containers"))) {
      return files.filter(file -> file.getFileName().toString().startsWith("index.")).toList();
    }
  }

  /** Each stream begins with what was printed before, so lines of one come after later ones. */
  @Test
  void linesOfSeveralReplicasAreInOrderEachWithItsLevel() throws IOException {
    up(
        "levels",
        """
        version: v1
        deployment: levels
        services:
          app:
            image: {name: "bb:1"}
            command: [sh, -c, "trap 'exit 0' TERM; while :; do echo WARN slow; echo ERROR broken; echo fine; sleep 0.2; done"]
            scale: {mode: fixed, replicas: 2}
        """);
    view("logs/service/levels/app");
    Locator output = page.getByRole(AriaRole.LOG);
    assertThat(output.locator(".line.erro").nth(9)).hasText(Pattern.compile("ERROR broken"));
    assertThat(output.locator(".line.warn").first()).hasText(Pattern.compile("WARN slow"));
    assertThat(output.locator(".source.c0").first()).isVisible();
    assertThat(output.locator(".source.c1").first()).isVisible();
    button("Pause").click();
    List<String> times = output.locator(".line time").allTextContents();
    assertThat(times).isSorted();

    page.getByLabel("Level").selectOption("errors");
    assertThat(output).not().containsText("WARN slow");
    assertThat(output).not().containsText("fine");
    assertThat(output).containsText("ERROR broken");
    page.getByLabel("Level").selectOption("warnings and errors");
    assertThat(output).containsText("WARN slow");
    daemon.ok("down", "levels");
  }

  @Test
  void keptOutputIsSearchedInTheBrowser() throws IOException {
    printed();
    view("logs");
    dashboard.follow("long");
    Locator output = page.getByRole(AriaRole.LOG);
    assertThat(output).containsText("the disk is empty", slowly());
    page.getByLabel("Search kept output").fill("disk is full");
    button("Search").click();

    assertThat(output.locator(".line")).hasCount(2);
    assertThat(output).containsText("the Disk is full");
    assertThat(output).containsText(MARKUP);
    assertThat(main()).containsText("zlayer logs -i --grep 'disk is full' ");
    Download download = page.waitForDownload(() -> button("Download").click());
    assertThat(Files.readString(download.path()).lines()).hasSize(2);

    output.locator(".line a").first().click();
    assertThat(output.locator(".line.marked")).containsText("the Disk is full");
    assertThat(output).containsText("6 request 2000 ");
    assertThat(output).containsText("7 request 1 ");
    String link = page.url();
    page.reload();
    assertThat(page.url()).isEqualTo(link);
    assertThat(output).containsText("the Disk is full", slowly());

    page.getByLabel("Search kept output").fill("disk");
    page.getByLabel("until").fill("2001-01-01T00:00");
    button("Search").click();
    assertThat(output).containsText("No line is found.");
    page.getByLabel("Search kept output").fill("");
    page.getByLabel("until").fill("");
    page.getByLabel("from").fill("2001-01-01T00:00");
    button("Search").click();
    assertThat(main()).containsText("zlayer logs --since 2001-01-01T");
    assertThat(output.locator(".line")).hasCount(1000);
    assertThat(output).containsText("the disk is empty");
    button("Back to the present").click();
    assertThat(output).containsText("the Disk is full");
  }
}
