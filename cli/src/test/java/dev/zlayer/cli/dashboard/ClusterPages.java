package dev.zlayer.cli.dashboard;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.assertions.PlaywrightAssertions;
import dev.zlayer.cli.ClusterFixture.Machine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.regex.Pattern;

/** The dashboard of one of three machines, named one, two and three, in a browser on it. */
public final class ClusterPages implements AutoCloseable {
  private static final int LIMIT_MS = 30_000;

  private final Machine asked;
  private final Machine elsewhere;
  private final BrowserFixture browser;
  private final DashboardPage dashboard;

  /**
   * Logs in.
   *
   * @param asked whose dashboard it is, which is named one
   * @param elsewhere another one, which is named three
   */
  public ClusterPages(Path directory, Machine asked, Machine elsewhere) throws IOException {
    PlaywrightAssertions.setDefaultAssertionTimeout(LIMIT_MS);
    this.asked = asked;
    this.elsewhere = elsewhere;
    Path script =
        Files.createFile(
            directory.resolve("browser"),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x")));
    Files.writeString(
        script,
        "#!/bin/sh\nexec nsenter --net=/run/netns/%s %s \"$@\"\n"
            .formatted(asked.namespace(), BrowserFixture.program("chromium")));
    this.browser = new BrowserFixture(script);
    Page page;
    try {
      page = browser.open(asked.agent().ok("dashboard").strip());
    } catch (RuntimeException | Error e) {
      browser.close();
      throw e;
    }
    this.dashboard = new DashboardPage(page);
  }

  private Locator main() {
    return dashboard.page().locator("main");
  }

  /** Status and capacity of each, and who leads. */
  public void showTheNodes() {
    dashboard.view("nodes");
    assertThat(main()).containsText(Pattern.compile("one.*three.*two", Pattern.DOTALL));
    assertThat(main()).containsText("leader");
    assertThat(main()).containsText("cpus");
    dashboard.view("overview");
    assertThat(main()).containsText("3 of 3nodes alive");
  }

  /** A container that is started elsewhere appears by itself, and is reached. */
  public void showAContainerElsewhere() {
    dashboard.view("containers");
    assertThat(main()).containsText("shop/web");
    run(elsewhere, "far", "printed elsewhere");
    assertThat(main()).containsText("far");
    // a node without containers is no choice, and replicas may be on other ones
    run(asked, "near", "printed here");
    assertThat(main()).containsText("near");
    main().locator("select").selectOption("one");
    assertThat(main()).not().containsText("far");
    assertThat(main()).containsText("near");
    main().locator("select").selectOption("three");
    assertThat(main()).containsText("far");
    assertThat(main()).not().containsText("near");

    dashboard.follow("far");
    assertThat(main()).containsText(Pattern.compile("Node\\s*three"));
    main().getByText("Logs", new Locator.GetByTextOptions().setExact(true)).click();
    assertThat(main()).containsText("printed elsewhere");
    dashboard.view("terminal");
    dashboard.follow("far");
    dashboard.button("Open").click();
    Locator rows = dashboard.page().locator(".xterm-rows");
    assertThat(rows).containsText(Pattern.compile("[#$]"));
    dashboard.page().keyboard().type("echo $((6 * 7))-answer\n");
    assertThat(rows).containsText("42-answer");
    dashboard.view("events");
    main().locator("select").last().selectOption("three");
    assertThat(main()).containsText("container.created");
    elsewhere.agent().ok("rm", "-f", "far");
    asked.agent().ok("rm", "-f", "near");
  }

  private static void run(Machine machine, String name, String line) {
    String script = "trap 'exit 0' TERM; echo %s; sleep 1000 & wait".formatted(line);
    machine
        .agent()
        .ok("run", "-d", "--network", "none", "--name", name, "bb:1", "sh", "-c", script);
  }

  @Override
  public void close() {
    try (browser) {
      dashboard.close();
    }
  }
}
