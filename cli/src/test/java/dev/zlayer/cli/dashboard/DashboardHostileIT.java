package dev.zlayer.cli.dashboard;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.ElementHandle;
import com.microsoft.playwright.Locator;
import dev.zlayer.cli.CliFixture;
import java.io.IOException;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Long lists, sessions that expire, and texts that try to be more than text. */
class DashboardHostileIT extends DashboardFixture {
  @Test
  void ofAThousandRowsOnlyThoseInSightAreMade() {
    daemon.ok(
        Stream.concat(
                Stream.of("volume", "create"),
                IntStream.range(0, 1000).mapToObj("v%04d"::formatted))
            .toArray(String[]::new));
    view("volumes");
    Locator table = main().getByLabel("Volumes");
    assertThat(table).containsText("v0000");

    assertThat(table.locator("tbody tr").count()).isLessThan(120);
    assertThat(table.locator("table")).hasAttribute("aria-rowcount", "1000");
    table.evaluate("box => { box.scrollTop = box.scrollHeight }");
    assertThat(table).containsText("v0999");
    assertThat(table.locator("tbody tr").count()).isLessThan(120);
    page.locator("#search").fill("v0500");
    assertThat(table.locator("table")).hasAttribute("aria-rowcount", "1");
    page.locator("#search").fill("");
    view("events");
    assertThat(main()).containsText("1000 of ");
    assertThat(main().locator("tbody tr").count()).isLessThan(120);
    view("disk");
    main().getByLabel("volumes").check();
    assertThat(main().getByLabel("Preview")).containsText("volume v0999");
    act("Remove all of these", "zlayer system prune --volumes");
  }

  /** Browsers deliver scroll events a frame later; the fixture fails on errors of the page. */
  @Test
  void aTableThatIsNoLongerShownIgnoresThatItWasScrolled() {
    view("networks");
    ElementHandle table = main().locator(".table").first().elementHandle();
    view("events");
    assertThat(main().getByLabel("Networks")).hasCount(0);

    assertThat(table.evaluate("box => box.isConnected")).isEqualTo(false);
    table.evaluate("box => box.dispatchEvent(new Event('scroll'))");
  }

  @Test
  void whenItsSessionHasExpiredThePageSaysSo() {
    dashboard.close();
    open(daemon.ok("dashboard", "--expires", "5s").strip());

    assertThat(page.locator("main.login")).containsText("zlayer dashboard", slowly());
    page.reload();
    assertThat(page.locator("main.login")).containsText("zlayer dashboard");
  }

  @Test
  void whateverContainersAndFilesSayIsText() throws IOException {
    String script = "echo '" + MARKUP + "'; echo '" + MARKUP + "' >&2; exit 3";
    String label = "note=" + MARKUP;
    CliFixture.Result run =
        daemon
            .cli()
            .run(
                "run",
                "--name",
                "hostile",
                "--label",
                label,
                "-e",
                "NOTE=" + MARKUP,
                "bb:1",
                "sh",
                "-c",
                script);
    assertThat(run.code()).as(run.err()).isEqualTo(3);
    up(
        "hostile",
        """
        version: v1
        deployment: hostile
        services:
          sick:
            image: {name: "bb:1"}
            command: %s
            labels: {note: "%s"}
            health: {check: {type: command, command: "echo '%s'; exit 1"}, start_grace: 0s, interval: 200ms, retries: 1, on_unhealthy: none}
          job:
            rtype: job
            image: {name: "bb:1"}
            command: [sh, -c, "echo '%s'; exit 4"]
        """
            .formatted(COMMAND, MARKUP, MARKUP, MARKUP));
    daemon.cli().run("job", "run", "--wait", "hostile/job");
    daemon.cli().run("image", "pull", "127.0.0.1:1/" + MARKUP);
    view("overview");
    Locator failing = main().getByLabel("Failing");
    assertThat(failing).containsText("hostile/sick");
    assertThat(failing).containsText("hostile/job");
    assertThat(failing.locator("article", new Locator.LocatorOptions().setHasText("hostile/job")))
        .containsText(MARKUP);
    for (String path :
        List.of(
            "overview",
            "deployments/hostile",
            "deployments/hostile/file",
            "containers",
            "logs/service/hostile/sick",
            "jobs",
            "events",
            "containers/" + MARKUP.replace("/", "%2F"),
            "logs/container/" + MARKUP.replace("/", "%2F"),
            "containers/%zz",
            MARKUP)) {
      view(path);
      page.locator("#search").fill(MARKUP);
      page.locator("#search").fill("");
      assertThat(page.locator("h1")).isVisible();
      assertThat(page.locator("img, b")).hasCount(0);
    }
    view("containers");
    dashboard.follow("hostile");
    assertThat(main()).containsText(MARKUP);
    act("Start", "zlayer start hostile");
    assertThat(page.locator("img, b")).hasCount(0);
    daemon.ok("down", "hostile");
    daemon.ok("rm", "-f", "hostile");
  }
}
