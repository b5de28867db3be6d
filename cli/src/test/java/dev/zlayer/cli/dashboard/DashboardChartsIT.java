package dev.zlayer.cli.dashboard;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.PlaywrightException;
import dev.zlayer.cli.CliFixture;
import java.io.IOException;
import java.time.Duration;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Figures over time, of the node and of containers, in a real browser. */
class DashboardChartsIT extends DashboardFixture {
  private static final Pattern BUSY = Pattern.compile("CPU over the last 1h: now CPU [1-9].*");

  @Test
  void figuresAreDrawnAndSurviveARestartOfTheAgent() throws IOException {
    CliFixture.Result applied =
        up(
            "busy",
            """
            version: v1
            deployment: busy
            services:
              loop:
                image: {name: "bb:1"}
                command: [sh, -c, "trap 'exit 0' TERM; while :; do :; done"]
                resources: {cpu: 0.3}
            """);
    assertThat(applied.code()).as(applied.err()).isZero();
    view("deployments/busy");
    main().locator("section[aria-label=loop] li a").first().click();
    assertThat(chart("CPU")).hasAttribute("aria-label", BUSY);
    assertThat(chart("Memory")).hasAttribute("aria-label", Pattern.compile(".*[1-9].* [kM]B"));
    assertThat(chart("CPU").locator("canvas")).isVisible();
    assertThat(pixels(chart("CPU"))).as("pixels of a line").isPositive();
    assertThat(chart("Disk used")).hasCount(0);

    button("24h").click();
    assertThat(chart("CPU")).hasAttribute("aria-label", Pattern.compile("CPU over the last 24h.*"));

    view("deployments/busy");
    page.getByText("Figures of loop").click();
    assertThat(chart("CPU")).hasAttribute("aria-label", BUSY);
    view("overview");
    assertThat(chart("Disk used"))
        .hasAttribute("aria-label", Pattern.compile(".*used [1-9].*[MGT]B"));

    Object first = firstStep();
    daemon.ok("daemon", "stop");
    daemon.restart();
    // the socket answers a moment before the page's port does
    Object again =
        Awaitility.await()
            .atMost(Duration.ofSeconds(30))
            .ignoreExceptionsInstanceOf(PlaywrightException.class)
            .until(this::firstStep, _ -> true);
    assertThat(again).isEqualTo(first);
    assertThat(chart("CPU")).isVisible();
    daemon.ok("down", "busy");
  }

  private Locator chart(String title) {
    return main().locator(".chart[aria-label^='" + title + " over']");
  }

  /** Of the node, as the page may read it. */
  private Object firstStep() {
    return page.evaluate(
        "async () => (await (await fetch('/api/v1/stats/history?span=24h')).json()).time[0]");
  }

  /** What is drawn in the colour of the line. */
  private static int pixels(Locator chart) {
    return (int)
        chart.evaluate(
            """
            box => {
              const canvas = box.querySelector("canvas");
              const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
              let count = 0;
              for (let at = 0; at < data.length; at += 4) {
                if (data[at + 2] > data[at] + 60 && data[at + 3] > 100) count++;
              }
              return count;
            }\
            """);
  }
}
