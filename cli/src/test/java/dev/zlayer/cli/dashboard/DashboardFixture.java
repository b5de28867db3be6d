package dev.zlayer.cli.dashboard;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.assertions.LocatorAssertions;
import com.microsoft.playwright.assertions.PlaywrightAssertions;
import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A daemon with one image and one browser for a class, and a logged-in page for each test. */
@Timeout(120)
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.CHROMIUM
})
abstract class DashboardFixture {
  /** Ends at once when it is asked to. */
  static final String SCRIPT = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

  static final String COMMAND = "[sh, -c, \"" + SCRIPT + "\"]";
  static final String MARKUP = "<img src=x onerror=window.pwned=1><b>bold</b>";

  @TempDir static Path directory;
  static DaemonFixture daemon;
  static BrowserFixture browser;

  DashboardPage dashboard;
  Page page;

  @BeforeAll
  static void start() throws IOException {
    PlaywrightAssertions.setDefaultAssertionTimeout(30_000);
    daemon =
        DaemonFixture.start(
                directory,
                Map.of(
                    "ZLAYER_INGRESS_HTTP", "127.0.0.1:" + freePort(),
                    "ZLAYER_INGRESS_HTTPS", "127.0.0.1:" + freePort()))
            .withBusybox("bb:1");
    browser = new BrowserFixture();
  }

  static int freePort() throws IOException {
    try (var free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return free.getLocalPort();
    }
  }

  @AfterAll
  static void stop() {
    if (browser != null) {
      browser.close();
    }
    if (daemon != null) {
      daemon.close();
    }
  }

  @BeforeEach
  void login() {
    open(daemon.ok("dashboard").strip());
  }

  void open(String link) {
    page = browser.open(link);
    dashboard = new DashboardPage(page);
  }

  @AfterEach
  void close() {
    if (dashboard != null) {
      dashboard.close();
    }
  }

  Locator main() {
    return page.locator("main");
  }

  void view(String path) {
    dashboard.view(path);
  }

  Locator button(String name) {
    return dashboard.button(name);
  }

  void act(String label, String command) {
    dashboard.act(label, command);
  }

  /** Applies a file, whatever becomes of it. */
  static CliFixture.Result up(String name, String body) throws IOException {
    Path file = directory.resolve(name + ".yml");
    Files.writeString(file, body);
    return daemon.cli().run("up", "-f", file.toString(), "--wait", "20s");
  }

  static LocatorAssertions.ContainsTextOptions slowly() {
    return new LocatorAssertions.ContainsTextOptions().setTimeout(30_000);
  }
}
