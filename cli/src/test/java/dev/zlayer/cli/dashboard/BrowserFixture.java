package dev.zlayer.cli.dashboard;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.BrowserType;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.TimeoutError;
import com.microsoft.playwright.options.ColorScheme;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A real browser: Debian's Chromium, driven by the Node of the host. */
final class BrowserFixture implements AutoCloseable {
  private static final int LIMIT_MS = 30_000;

  private final Playwright playwright;
  private final Browser browser;

  BrowserFixture() {
    this(Path.of(program("chromium")));
  }

  /** One that a script starts, elsewhere than on this host. */
  BrowserFixture(Path chromium) {
    Map<String, String> env = new HashMap<>();
    env.put("PLAYWRIGHT_NODEJS_PATH", program("node"));
    env.put("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    this.playwright = Playwright.create(new Playwright.CreateOptions().setEnv(env));
    try {
      this.browser =
          playwright
              .chromium()
              .launch(
                  new BrowserType.LaunchOptions()
                      .setExecutablePath(chromium)
                      // as root there is no other way; it opens pages of the test's own daemon only
                      .setArgs(List.of("--no-sandbox")));
    } catch (RuntimeException e) {
      playwright.close();
      throw e;
    }
  }

  static String program(String name) {
    return Stream.of("/usr/local/bin/", "/usr/bin/")
        .map(directory -> directory + name)
        .filter(path -> Files.isExecutable(Path.of(path)))
        .findFirst()
        .orElseThrow();
  }

  /** Cookies of its own. */
  BrowserContext context(ColorScheme colours) {
    BrowserContext context =
        browser.newContext(
            new Browser.NewContextOptions().setColorScheme(colours).setAcceptDownloads(true));
    context.setDefaultTimeout(LIMIT_MS);
    return context;
  }

  /** Logged in by a link. */
  Page open(String link) {
    return open(context(ColorScheme.LIGHT).newPage(), link);
  }

  /** The same, although the first attempt to load a file fails. */
  Page broken(String file, String link) {
    Page page = context(ColorScheme.LIGHT).newPage();
    page.route(file, Route::abort, new Page.RouteOptions().setTimes(1));
    return open(page, link);
  }

  private static Page open(Page page, String link) {
    page.navigate(link);
    try {
      page.waitForSelector("nav a");
    } catch (TimeoutError e) {
      throw new AssertionError("the page is not logged in: " + page.textContent("body"), e);
    }
    return page;
  }

  @Override
  public void close() {
    try (playwright) {
      browser.close();
    }
  }
}
