package dev.zlayer.cli.dashboard;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ColorScheme;
import dev.zlayer.cli.CliFixture;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/**
 * Every view in both themes: pictures of them are left in {@code target/dashboard}, and axe finds
 * nothing serious in any.
 */
class DashboardLookIT extends DashboardFixture {
  private static final Path PICTURES = Path.of("target/dashboard");

  private static final String SHOP =
      """
      version: v1
      deployment: shop
      services:
        db:
          image: {name: "bb:1"}
          command: %1$s
          health: {check: {type: command, command: "echo ready"}, interval: 1s}
        web:
          image: {name: "bb:1"}
          command: [httpd, -f, -p, "8080"]
          depends: [db, {service: migrate, condition: completed}]
          scale: {mode: fixed, replicas: 2}
        mail:
          image: {name: "bb:1"}
          command: [sh, -c, "echo cannot reach the mail server; exit 3"]
          depends: [db]
        migrate:
          rtype: job
          image: {name: "bb:1"}
          command: [sh, -c, "echo 12 tables; echo done > /result"]
          job: {artifacts: [/result]}
          depends: [db]
        nightly:
          rtype: cron
          schedule: "0 30 2 * * *"
          image: {name: "bb:1"}
          command: ["true"]
      """
          .formatted(COMMAND);

  /** The part after #, and what it has when it is shown. */
  private record View(String path, String name, String shows) {
    static View of(String path, String shows) {
      return new View(path, path.replaceAll("/.*", ""), shows);
    }
  }

  private static List<View> views(String container, String execution) {
    return List.of(
        View.of("overview", "cannot reach the mail server"),
        View.of("deployments", "shop"),
        new View("deployments/shop", "deployment", "Dependencies"),
        new View("deployments/shop/file", "file", "The file changes nothing"),
        View.of("containers", "shop/web/1"),
        new View("containers/" + container, "container", "Health checks"),
        View.of("logs", "shop/web/1"),
        new View("logs/service/shop/mail", "log", "cannot reach the mail server"),
        View.of("terminal", "shop/web/1"),
        View.of("jobs", "shop/migrate"),
        new View("jobs/" + execution, "execution", "/result"),
        new View("jobs/calendar", "calendar", "02:30"),
        View.of("images", "bb:1"),
        View.of("volumes", "zlayer volume create NAME"),
        View.of("networks", "shop"),
        View.of("secrets", "zlayer secret set NAME"),
        View.of("ingress", "No endpoint has a host or a path"),
        View.of("disk", "Nothing would be removed"),
        View.of("events", "replica.started"),
        View.of("nodes", "This node is in no cluster"),
        View.of("sessions", "this one"));
  }

  @Test
  void everyViewCanBeUsedByEverybodyInBothThemes() throws IOException {
    CliFixture.Result applied = up("shop", SHOP);
    assertThat(applied.err()).contains("mail");
    Files.createDirectories(PICTURES);
    String axe = axe();
    String container = id("ps", "--json", "--filter", "name=shop/db");
    String execution = id("job", "history", "--json", "shop/migrate");
    for (ColorScheme colours : List.of(ColorScheme.LIGHT, ColorScheme.DARK)) {
      page.emulateMedia(new Page.EmulateMediaOptions().setColorScheme(colours));
      for (View view : views(container, execution)) {
        view(view.path());
        assertThat(main().locator("h1")).isVisible();
        assertThat(main()).containsText(view.shows());
        String picture = view.name() + "-" + colours.name().toLowerCase(Locale.ROOT);
        page.screenshot(new Page.ScreenshotOptions().setPath(PICTURES.resolve(picture + ".png")));
        page.evaluate(axe);
        assertThat(page.evaluate(SERIOUS)).as(picture).isEqualTo(List.of());
      }
    }
    page.setViewportSize(390, 844);
    for (View view : views(container, execution)) {
      view(view.path());
      assertThat(main()).containsText(view.shows());
      page.screenshot(
          new Page.ScreenshotOptions().setPath(PICTURES.resolve(view.name() + "-phone.png")));
      assertThat(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
          .as(view.path() + " is not wider than a phone")
          .isEqualTo(true);
    }
    daemon.ok("down", "shop");
  }

  private static final String SERIOUS =
      """
      async () => (await axe.run()).violations
        .filter((one) => ["serious", "critical"].includes(one.impact))
        .map((one) => one.id + ": " + one.nodes.map((node) => node.html + node.failureSummary).join(" | "))
      """;

  private static String id(String... command) {
    return daemon.json(command).items().getFirst().at("id").string().orElseThrow();
  }

  private static String axe() throws IOException {
    try (InputStream file = DashboardLookIT.class.getResourceAsStream("/axe.min.js")) {
      assertThat(file).as("axe.min.js of the dependency axe-core").isNotNull();
      return new String(file.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
