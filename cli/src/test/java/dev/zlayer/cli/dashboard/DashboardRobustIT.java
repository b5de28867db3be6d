package dev.zlayer.cli.dashboard;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.AriaRole;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Several tabs, hidden ones, and an agent that is killed. */
class DashboardRobustIT extends DashboardFixture {
  private static final Duration LIMIT = Duration.ofSeconds(30);

  @Test
  void twoTabsShowTheSameAndEndTogether() {
    Page second = page.context().newPage();
    second.navigate(page.url().replaceAll("#.*", ""));
    second.waitForSelector("nav a");
    second.evaluate("location.hash = '#/volumes'");
    view("volumes");
    daemon.ok("volume", "create", "both");
    assertThat(second.locator("main")).containsText("both");
    act("Remove both", "zlayer volume rm both");
    assertThat(second.locator("main")).not().containsText("both");

    button("Log out").click();

    assertThat(page.locator("main.login")).containsText("zlayer dashboard");
    second.evaluate("location.hash = '#/images'");
    assertThat(second.locator("main.login")).containsText("zlayer dashboard");
  }

  @Test
  @Requires(Fact.CURL)
  void aHiddenTabCostsTheAgentNothing() throws InterruptedException {
    daemon.ok("run", "-d", "--name", "chatty", "bb:1", "sh", "-c", counting());
    view("logs");
    dashboard.follow("chatty");
    Locator output = page.getByRole(AriaRole.LOG);
    assertThat(output).containsText("line 3 ");
    // the events and the output
    awaitStreams(2);

    visibility("hidden");

    awaitStreams(0);
    var requests = new CopyOnWriteArrayList<String>();
    page.onRequest(request -> requests.add(request.url()));
    daemon.ok("volume", "create", "unseen");
    int printed = lines();
    awaitLines(printed + 5);
    daemon.ok("volume", "rm", "unseen");
    assertThat(page.evaluate("1 + 1")).isEqualTo(2);
    assertThat(requests).isEmpty();

    visibility("visible");
    awaitStreams(2);
    assertThat(output).containsText("line " + (printed + 5) + " ");
    assertNoLineIsMissingOrTwice(output);
    daemon.ok("rm", "-f", "chatty");
  }

  /** As a browser reports it when another tab is in front; a headless one has no such state. */
  private void visibility(String state) {
    page.evaluate(
        """
        state => {
          Object.defineProperty(document, "visibilityState", {configurable: true, get: () => state});
          document.dispatchEvent(new Event("visibilitychange"));
        }
        """,
        state);
  }

  private static String counting() {
    return "trap 'exit 0' TERM; i=0; while :; do i=$((i + 1)); echo line $i end; sleep 0.2; done";
  }

  private static int lines() {
    return (int) daemon.ok("logs", "chatty").lines().count();
  }

  private static void awaitLines(int count) {
    Deadline deadline = Deadline.after(LIMIT);
    while (lines() < count) {
      assertThat(deadline.passed()).as("%d lines are printed", count).isFalse();
    }
  }

  private static void assertNoLineIsMissingOrTwice(Locator output) {
    List<String> shown =
        output.locator(".line").allTextContents().stream()
            .map(text -> text.replaceAll("(?s).*line (\\d+) end.*", "$1"))
            .toList();
    int first = Integer.parseInt(shown.getFirst());
    assertThat(shown)
        .containsExactlyElementsOf(
            IntStream.range(first, first + shown.size()).mapToObj(String::valueOf).toList());
  }

  /** Requests of the page that the agent is answering. */
  private static void awaitStreams(int count) throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    while (true) {
      String metrics =
          Processes.check(
                  Command.of(
                      "curl",
                      "-s",
                      "--unix-socket",
                      daemon.dataDirectory().resolve("run/zlayer.sock").toString(),
                      "http://localhost/api/v1/metrics"),
                  Deadline.after(LIMIT))
              .stdout();
      int open =
          metrics
              .lines()
              .filter(line -> line.startsWith("zlayer_http_requests_in_flight "))
              .mapToInt(line -> Integer.parseInt(line.substring(line.indexOf(' ') + 1)))
              .sum();
      if (open == count + 1) { // and the one that asks
        return;
      }
      assertThat(deadline.passed()).as("%d streams instead of %d", open - 1, count).isFalse();
    }
  }

  /** A list of a thousand is not sent again because one container, or a volume, changed. */
  @Test
  void onlyTheContainersThatChangedAreAskedForAgain() {
    daemon.ok("run", "-d", "--name", "first", "bb:1", "sh", "-c", SCRIPT);
    view("containers");
    assertThat(main()).containsText("first");
    assertThat(page.locator("#connection")).hasClass(Pattern.compile("open"));
    var asked = new CopyOnWriteArrayList<String>();
    page.onRequest(request -> asked.add(request.url()));

    daemon.ok("volume", "create", "beside");
    daemon.ok("rename", "first", "other");
    assertThat(main()).containsText("other");
    assertThat(main()).not().containsText("first");
    daemon.ok("run", "-d", "--name", "second", "bb:1", "sh", "-c", SCRIPT);
    assertThat(main()).containsText("second");
    daemon.ok("rm", "-f", "other");
    assertThat(main()).not().containsText("other");
    daemon.ok("rm", "-f", "second");
    assertThat(main()).containsText("There is no container.");

    Map<Boolean, List<String>> parts =
        asked.stream().collect(Collectors.partitioningBy(url -> url.contains("&path=")));
    // all of them at most when the stream of events has begun, which may be in place of the first
    assertThat(parts.get(false)).hasSizeLessThanOrEqualTo(1);
    assertThat(parts.get(true)).hasSizeGreaterThanOrEqualTo(4 - parts.get(false).size());
    daemon.ok("volume", "rm", "beside");
  }

  @Test
  void theOutputContinuesWhereItWasWhenTheAgentIsKilled() {
    daemon.ok("run", "-d", "--name", "chatty", "bb:1", "sh", "-c", counting());
    view("logs");
    dashboard.follow("chatty");
    Locator output = page.getByRole(AriaRole.LOG);
    assertThat(output).containsText("line 3 ");

    daemon.kill();
    assertThat(page.locator("#connection")).containsText("is lost", slowly());
    daemon.restart();

    assertThat(page.locator("#connection")).containsText("The agent is back", slowly());
    int printed = lines();
    awaitLines(printed + 3);
    assertThat(output).containsText("line " + (printed + 3) + " ", slowly());
    assertNoLineIsMissingOrTwice(output);
    daemon.ok("rm", "-f", "chatty");
  }
}
