package dev.zlayer.cli.dashboard;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Download;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.AriaRole;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The dashboard in a real browser, against a real daemon with real containers. */
class DashboardIT extends DashboardFixture {
  @Test
  void failingThingsComeFirstWithTheirReasonAndLastLines() throws IOException {
    up(
        "failing",
        """
        version: v1
        deployment: failing
        services:
          bad:
            image: {name: "bb:1"}
            command: ["sh", "-c", "echo the disk is on fire; exit 3"]
        """);
    view("overview");
    Locator failing =
        page.getByRole(AriaRole.REGION, new Page.GetByRoleOptions().setName("Failing"));

    assertThat(failing).containsText("failing/bad", slowly());
    assertThat(failing).containsText("code 3", slowly());
    assertThat(failing).containsText("the disk is on fire", slowly());
    daemon.ok("down", "failing");
    assertThat(page.locator("main")).not().containsText("failing/bad");
  }

  @Test
  void aDeploymentIsScaledRolledOutAndRolledBackWhileThePageWatches() throws IOException {
    up("shop", shop("v1"));
    view("deployments/shop");
    assertThat(page.locator("section[aria-label=web]")).containsText("1 of 1 ready", slowly());

    page.getByLabel("Replicas").fill("2");
    act("Scale web", "zlayer scale shop/web=2");
    assertThat(page.locator("section[aria-label=web]")).containsText("2 of 2 ready", slowly());

    Path gate = Files.createDirectory(directory.resolve("gate"));
    apply("shop", shop("v2") + GATED.formatted(gate));
    // the new replicas are not healthy until the file is there
    assertThat(page.locator("section[aria-label=web] .rollout"))
        .containsText("revision 2: 0 of 2 replicas", slowly());
    assertThat(page.getByLabel("Replicas of revision 2")).isVisible();
    view("overview");
    assertThat(main().getByLabel("Services").getByLabel("Replicas of revision 2")).isVisible();
    view("deployments/shop");
    Files.createFile(gate.resolve("open"));
    assertThat(page.locator("section[aria-label=web] h2")).containsText("running", slowly());
    assertThat(page.locator("section[aria-label=web] .rollout")).hasCount(0);
    assertThat(page.getByLabel("Revisions").locator("li").first()).containsText("2:", slowly());
    act("Roll back to 1", "zlayer rollback shop 1");
    assertThat(page.getByLabel("Revisions").locator("li").first()).containsText("3:", slowly());

    act("Restart web", "zlayer restart shop/web");
    act("Stop web", "zlayer stop shop/web");
    assertThat(page.locator("section[aria-label=web] h2")).containsText("stopped", slowly());
    act("Start web", "zlayer start shop/web");
    assertThat(page.locator("section[aria-label=web] h2")).containsText("running", slowly());
    page.locator("summary", new Page.LocatorOptions().setHasText("Events of web")).click();
    assertThat(main().locator("ul[aria-label='Events of web']")).containsText("replica.started");
    act("Restart shop", "zlayer restart shop");
    act("Stop shop", "zlayer stop shop");
    assertThat(page.locator("section[aria-label=web] h2")).containsText("stopped", slowly());
    act("Start shop", "zlayer start shop");
    act("Remove shop", "zlayer down shop");
    view("deployments");
    assertThat(page.locator("main")).not().containsText("shop");
  }

  private static final String GATED =
      """
          scale: {mode: fixed, replicas: 2}
          storage: [{type: bind, source: %s, target: /gate, readonly: true}]
          health: {check: {type: command, command: "test -f /gate/open"}, interval: 200ms, start_grace: 60s}
      """;

  /** Without waiting for what becomes of it. */
  private static void apply(String name, String body) throws IOException {
    Path file = Files.writeString(directory.resolve(name + ".yml"), body);
    daemon.ok("up", "-f", file.toString(), "--no-wait");
  }

  private static String shop(String word) {
    return """
    version: v1
    deployment: shop
    services:
      web:
        image: bb:1
        command: ["sh", "-c", "trap exit TERM; echo %s; sleep 1000 & wait"]
    """
        .formatted(word);
  }

  @Test
  void aFileShowsItsProblemsAndChangesBeforeItIsApplied() {
    String head = "version: v1\ndeployment: typed\nservices:\n  web:\n    image: {name: 'bb:1'}\n";
    view("deployments/+");
    Locator file = page.getByLabel("Deployment file");

    file.fill(head + "    comand: [sleep]\n");
    assertThat(page.getByLabel("Problems")).containsText("comand", slowly());
    assertThat(page.locator(".gutter .bad")).hasText("6");
    assertThat(button("Apply")).hasCount(0);

    file.fill(head + "    command: " + COMMAND + "\n");
    assertThat(page.getByLabel("Changes")).containsText("create web", slowly());
    assertThat(page.locator(".gutter .bad")).hasCount(0);
    button("Apply").click();
    assertThat(page.getByLabel("Progress")).containsText("result: stable", slowly());
    assertThat(daemon.ok("status")).contains("typed");

    view("deployments/typed/file");
    assertThat(file).hasValue(Pattern.compile("bb:1"));
    file.fill(head + "    env: {COLOUR: green}\n    command: " + COMMAND + "\n");
    assertThat(page.getByLabel("Changes")).containsText("COLOUR: green", slowly());
    assertThat(page.locator("ins").first()).hasText("{COLOUR: green}");
    daemon.ok("down", "typed");
  }

  @Test
  void aContainerIsShownStoppedStartedKilledAndRemoved() {
    String label = "note=" + MARKUP;
    daemon.cli().runWithInput("s3cret-note".getBytes(UTF_8), "secret", "set", "note");
    daemon.ok(
        "run",
        "-d",
        "--name",
        "one",
        "--label",
        label,
        "-e",
        "PASSWORD=hunter2",
        "-e",
        "COLOUR=green " + MARKUP,
        "-e",
        "NOTE=about s3cret-note",
        "bb:1",
        "sh",
        "-c",
        SCRIPT);
    view("containers");
    dashboard.follow("one");

    assertThat(page.locator("main")).containsText(MARKUP, slowly());
    assertThat(page.getByLabel("Environment")).containsText("PASSWORD");
    assertThat(page.content()).doesNotContain("green");
    button("Show values").click();
    assertThat(page.getByLabel("Environment")).containsText("green " + MARKUP);
    assertThat(page.getByLabel("Environment")).containsText("about [secret]");
    daemon.ok("secret", "rm", "note");
    assertThat(page.content()).doesNotContain("hunter2").doesNotContain("s3cret-note");
    button("Show processes").click();
    assertThat(page.locator("[aria-label=Processes]")).containsText("sh");
    page.locator("summary", new Page.LocatorOptions().setHasText("Events of one")).click();
    assertThat(main().locator("ul[aria-label='Events of one']")).containsText("container.started");
    act("Kill", "zlayer kill one");
    assertThat(page.locator("main dl").first()).containsText("exited", slowly());
    act("Start", "zlayer start one");
    assertThat(page.locator("main dl").first()).containsText("running", slowly());
    act("Restart", "zlayer restart one");
    act("Stop", "zlayer stop one");
    assertThat(page.locator("main dl").first()).containsText("exited", slowly());
    act("Remove", "zlayer rm -f one");
    assertThat(page.locator("main")).containsText("Containers");
    assertThat(daemon.ok("ps", "--all")).doesNotContain("one ");
  }

  /** As when an interface of the host changes meanwhile: browsers break off what they load. */
  @Test
  void aPageOfWhichAFileDoesNotArriveIsLoadedAgain() {
    dashboard.close();
    page = browser.broken("**/view/logs/logs.js", daemon.ok("dashboard").strip());
    dashboard = new DashboardPage(page);
    view("containers");
    assertThat(page.locator("main")).containsText("Containers");
  }

  @Test
  void outputIsFollowedPausedAndDownloadedAndStaysText() throws IOException {
    daemon.ok(
        "run",
        "-d",
        "--name",
        "chatty",
        "bb:1",
        "sh",
        "-c",
        "echo '" + MARKUP + "'; printf '\\033[2Jcleared\\n'; while sleep 0.2; do echo tick; done");
    view("logs");
    dashboard.follow("chatty");
    Locator output = page.getByRole(AriaRole.LOG);

    assertThat(output).containsText(MARKUP, slowly());
    assertThat(output).containsText("\uFFFD[2Jcleared");
    assertThat(output).containsText("tick", slowly());
    assertThat(output.locator("img, b")).hasCount(0);
    button("Pause").click();
    int paused = output.locator(".line").count();
    awaitTicks(ticks() + 3);
    assertThat(output.locator(".line")).hasCount(paused);
    button("Continue").click();
    page.waitForFunction("count => document.querySelectorAll('.log .line').length > count", paused);
    button("Wrap").click();
    assertThat(output).not().hasClass(Pattern.compile("wrap"));
    Download download = page.waitForDownload(() -> button("Download").click());
    assertThat(Files.readString(download.path())).contains("tick", MARKUP);
    daemon.ok("rm", "-f", "chatty");
  }

  private static int ticks() {
    return (int) daemon.ok("logs", "chatty").lines().filter(line -> line.contains("tick")).count();
  }

  /** Until the container has printed so many, whatever the page shows. */
  private static void awaitTicks(int count) {
    Deadline deadline = Deadline.after(Duration.ofSeconds(30));
    while (ticks() < count) {
      assertThat(deadline.passed()).as("%d ticks are printed", count).isFalse();
    }
  }

  @Test
  void aReadOnlySessionHasNoButtonsForChanges() {
    daemon.ok("run", "-d", "--name", "seen", "bb:1", "sh", "-c", SCRIPT);
    page.context().close();
    open(daemon.ok("dashboard", "--read-only").strip());
    view("containers");
    dashboard.follow("seen");

    assertThat(page.locator("main h1")).hasText("seen");
    assertThat(page.locator("header")).containsText("read-only");
    assertThat(page.locator("main button.danger")).hasCount(0);
    assertThat(button("Stop")).hasCount(0);
    assertThat(button("Show values")).hasCount(0);
    daemon.ok("rm", "-f", "seen");
  }

  @Test
  void sessionsAreListedAndEndedInThePage() {
    Page other = browser.open(daemon.ok("dashboard", "--read-only").strip());
    String id =
        daemon.json("dashboard", "sessions", "--json").items().stream()
            .filter(one -> one.at("read_only").bool().orElseThrow())
            .toList()
            .getLast()
            .at("id")
            .string()
            .orElseThrow();
    view("sessions");
    assertThat(main().locator("tr", new Locator.LocatorOptions().setHasText("this one")))
        .containsText("change");

    act("End " + id, "zlayer dashboard revoke " + id);

    assertThat(other.locator("main.login")).containsText("zlayer dashboard", slowly());
    other.context().close();
  }

  /** What the first view needs is asked for before its scripts are there, and only once. */
  @Test
  void thePageUsesWhatItAskedForEarly() {
    page.reload();
    assertThat(page.locator(".summary")).isVisible();
    page.waitForFunction("() => early.size === 0");
  }

  @Test
  void aRevokedSessionEndsThePage() {
    String id =
        daemon
            .json("dashboard", "sessions", "--json")
            .items()
            .getLast()
            .at("id")
            .string()
            .orElseThrow();

    daemon.ok("dashboard", "revoke", id);

    assertThat(page.locator("main.login")).containsText("zlayer dashboard", slowly());
  }

  @Test
  void thePageFindsTheAgentAgainAndSaysSo() {
    assertThat(page.locator("#connection")).hasClass(Pattern.compile("open"));

    daemon.kill();
    assertThat(page.locator("#connection")).containsText("is lost", slowly());
    daemon.restart();

    assertThat(page.locator("#connection")).containsText("The agent is back", slowly());
    daemon.ok("run", "-d", "--name", "later", "bb:1", "sh", "-c", SCRIPT);
    view("containers");
    assertThat(page.locator("main")).containsText("later", slowly());
    daemon.ok("rm", "-f", "later");
    assertThat(page.locator("main")).not().containsText("later");
  }

  @Test
  void keysReachTheViewsAndTheSearch() {
    page.keyboard().press("g");
    page.keyboard().press("c");
    assertThat(page.locator("main h1")).hasText("Containers");
    page.keyboard().press("g");
    page.keyboard().press("s");
    assertThat(page.locator("main h1")).hasText("Services");
    page.keyboard().press("/");
    assertThat(page.locator("#search")).isFocused();
    page.keyboard().press("Escape");
    page.locator("main h1").click();
    page.keyboard().press("?");
    assertThat(page.locator("dialog.help")).isVisible(); // its text is there before it is open
    assertThat(page.locator("dialog.help")).containsText("Search this view");
    page.keyboard().press("Escape");
    assertThat(page.locator("dialog.help")).isHidden();
  }

  @Test
  void aPersonChoosesBetweenLightAndDark() {
    String dark = "() => getComputedStyle(document.body).backgroundColor === 'rgb(20, 23, 28)'";
    assertThat(page.evaluate(dark)).isEqualTo(false);
    button("Theme: auto").click();
    button("Theme: light").click();
    assertThat(button("Theme: dark")).isVisible();
    page.waitForFunction(dark);
    page.reload();
    page.waitForFunction(dark);
  }
}
