package dev.zlayer.cli.dashboard;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Jobs, terminals, and what containers are made from, in a real browser. */
class DashboardViewsIT extends DashboardFixture {
  @Test
  void aTerminalIsTypedInto() {
    daemon.ok("run", "-d", "--name", "box", "bb:1", "sleep", "1000");
    dashboard.view("terminal");
    dashboard.follow("box");
    dashboard.button("Open").click();
    assertThat(dashboard.page().locator(".xterm-rows")).containsText(Pattern.compile("[#$]"));

    dashboard.page().keyboard().type("echo $((6 * 7))-answer; stty size\n");

    assertThat(dashboard.page().locator(".xterm-rows")).containsText("42-answer");
    assertThat(dashboard.page().locator(".xterm-rows"))
        .containsText(Pattern.compile("[1-9][0-9]* [1-9][0-9]+"));
    dashboard
        .page()
        .keyboard()
        .type("while sleep 0.2; do echo \"now $(stty size) is its size\"; done\n");
    Locator rows = dashboard.page().locator(".xterm-rows");
    assertThat(rows).containsText(Pattern.compile("now \\d+ \\d{3} is its size"));
    dashboard.page().setViewportSize(700, 700);
    assertThat(rows).containsText(Pattern.compile("now \\d+ \\d{2} is its size"));
    dashboard.page().keyboard().press("Control+C");
    dashboard.page().keyboard().type("exit 3\n");
    assertThat(main()).containsText("exited with code 3");
    dashboard.button("Open").click();
    assertThat(dashboard.page().locator(".xterm-rows")).containsText(Pattern.compile("[#$]"));
    daemon.kill();
    assertThat(main()).containsText("The connection is lost");
    daemon.restart();
    assertThat(dashboard.page().locator("#connection")).containsText("The agent is back");
    dashboard.button("Open").click();
    assertThat(dashboard.page().locator(".xterm-rows")).containsText(Pattern.compile("[#$]"));
    daemon.ok("rm", "-f", "box");
    assertThat(dashboard.button("Open")).isVisible();
  }

  @Test
  void aJobIsRunAndItsRunsAreShown() throws IOException {
    Path file = directory.resolve("work.yml");
    Files.writeString(
        file,
        """
        version: v1
        deployment: work
        services:
          add:
            rtype: job
            image: {name: "bb:1"}
            command: [sh, -c, "echo sum is 5; exit 4"]
          slow:
            rtype: job
            image: {name: "bb:1"}
            command: [sleep, "1000"]
          nightly:
            rtype: cron
            schedule: "0 0 3 1 1 *"
            image: {name: "bb:1"}
            command: [sh, -c, "echo night"]
        """);
    daemon.ok("up", "-f", file.toString());
    dashboard.view("jobs");
    dashboard.act("Run work/add now", "zlayer job run work/add");
    Locator bar = dashboard.page().locator("ol[aria-label='Runs of work/add'] a");
    assertThat(bar).hasText(Pattern.compile("failed"));
    bar.click();
    assertThat(main()).containsText("exit code 4");
    dashboard.act("Retry", "zlayer job retry work/add/1");
    dashboard.follow("Output");
    assertThat(main()).containsText("sum is 5");

    dashboard.view("jobs");
    dashboard.act("Run work/slow now", "zlayer job run work/slow");
    Locator slow = dashboard.page().locator("ol[aria-label='Runs of work/slow'] a");
    assertThat(slow).hasText(Pattern.compile("running"));
    slow.click();
    dashboard.act("Cancel", "zlayer job cancel work/slow/1");
    assertThat(main()).containsText("cancelled");

    dashboard.view("jobs");
    assertThat(main()).containsText("next run in ");
    dashboard.act("Disable work/nightly", "zlayer cron disable work/nightly");
    assertThat(main()).containsText("disabled");
    dashboard.act("Enable work/nightly", "zlayer cron enable work/nightly");
    dashboard.act("Run work/nightly now", "zlayer cron run work/nightly");
    assertThat(dashboard.page().locator("ol[aria-label='Runs of work/nightly'] a"))
        .hasText(Pattern.compile("completed"));
    dashboard.view("overview");
    assertThat(main()).containsText("work/add");
    daemon.ok("down", "work");
  }

  @Test
  void whatContainersUseIsListedAndRemoved() {
    daemon.ok("volume", "create", "data");
    assertThat(daemon.cli().runWithInput("s3cret-value".getBytes(), "secret", "set", "key").code())
        .isZero();
    dashboard.view("volumes");
    dashboard.act("Remove data", "zlayer volume rm data");
    assertThat(main()).containsText("zlayer volume create NAME");
    assertThat(daemon.ok("volume", "ls")).doesNotContain("data");
    dashboard.view("secrets");
    assertThat(main()).containsText("key");
    assertThat(dashboard.page().content()).doesNotContain("s3cret-value");
    dashboard.act("Remove key", "zlayer secret rm key");
    assertThat(main()).containsText("zlayer secret set NAME");
    daemon.ok("image", "tag", "bb:1", "bb:extra");
    dashboard.view("images");
    dashboard.act("Remove bb:extra", "zlayer image rm bb:extra");
    assertThat(main()).not().containsText("bb:extra");
    assertThat(main()).containsText("bb:1");
    daemon.ok("network", "create", "own");
    dashboard.view("networks");
    dashboard.act("Remove own", "zlayer network rm own");
    assertThat(daemon.ok("network", "ls")).doesNotContain("own ");
    dashboard.view("events");
    daemon.ok("volume", "create", "later");
    assertThat(main()).containsText("later");
    daemon.ok("volume", "rm", "later");
  }
}
