package dev.zlayer.bench.work;

import com.sun.net.httpserver.HttpServer;
import dev.zlayer.bench.Options;
import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.engine.Chromium;
import dev.zlayer.bench.engine.RestEngine;
import dev.zlayer.bench.engine.Tool;
import dev.zlayer.bench.engine.ZlayerDaemon;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The page in a real browser: its weight, how long it takes to be of use beside an empty page, and
 * what it costs while much happens. The containers are real ones.
 */
public final class DashboardWork implements Work {
  private static final double HEAVIEST = 350;
  private static final int CHANGES_PER_SECOND = 50;
  private static final String EMPTY = "an empty page";
  private static final String QUIET = "the agent, without a page";

  /** When something of use was painted: the first frame after it is there. */
  private static final String PAINTED =
      """
      new MutationObserver((_, own) => {
        if (document.querySelector(".summary, #empty")) {
          own.disconnect();
          requestAnimationFrame(() => setTimeout(() => (window.paintedAt = performance.now())));
        }
      }).observe(document, { childList: true, subtree: true });
      """;

  /** Compressed, without headers and without what the agent is asked for later. */
  private static final String WEIGHT =
      """
      [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
        .filter((one) => one.initiatorType !== "fetch")
        .reduce((sum, one) => sum + one.encodedBodySize, 0)
      """;

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    if (!Files.isExecutable(arena.program()) || !Tool.installed("chromium")) {
      return List.of();
    }
    try (var daemon = arena.freshDaemon("dashboard", Map.of());
        var browser = new Chromium(arena.directory("browser"))) {
      String link =
          JsonText.parse(daemon.ask("POST", "/dashboard/links", Json.object().build()))
              .at("url")
              .string()
              .orElseThrow();
      browser.call("Page.addScriptToEvaluateOnNewDocument", Json.object().put("source", PAINTED));
      browser.call("Network.setCacheDisabled", Json.object().put("cacheDisabled", true));
      double _ = paint(browser, link);
      var tables = new ArrayList<Report.Table>();
      tables.add(weight(browser, arena.options()));
      tables.add(paints(browser, link.replaceAll("#.*", ""), arena.options()));
      tables.add(busy(arena, daemon, browser));
      return tables;
    }
  }

  private static Report.Table weight(Chromium browser, Options options) throws Exception {
    double first = browser.evaluate(WEIGHT).integer().orElseThrow() / 1e3;
    browser.evaluate("location.hash = '#/terminal'");
    browser.await(
        "performance.getEntriesByType('resource').some((one) => one.name.includes('xterm.mjs') &&"
            + " one.responseEnd > 0)");
    double kilobytes = browser.evaluate(WEIGHT).integer().orElseThrow() / 1e3;
    Report.Row row =
        options.effort() == Options.Effort.SMOKE
            ? Report.Row.of("the page", kilobytes, "")
            : Report.Row.atMost(HEAVIEST, "the page", kilobytes, "all its files, compressed");
    return new Report.Table(
        "weight of the dashboard",
        "kB",
        "the page",
        List.of(row, Report.Row.of("its first view", first, "without the terminal")));
  }

  /** Milliseconds from the beginning of the navigation. */
  private static double paint(Chromium browser, String address) throws Exception {
    browser.call("Page.navigate", Json.object().put("url", "about:blank"));
    browser.await("location.href === 'about:blank'");
    browser.call("Page.navigate", Json.object().put("url", address));
    browser.await("window.paintedAt > 0 && location.protocol === 'http:'");
    return browser.evaluate("Math.round(1000 * window.paintedAt)").integer().orElseThrow() / 1e3;
  }

  private static Report.Table paints(Chromium browser, String page, Options options)
      throws Exception {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    byte[] empty = "<!doctype html><p id=empty>empty".getBytes(StandardCharsets.US_ASCII);
    server.createContext(
        "/",
        exchange -> {
          exchange.getResponseHeaders().add("Content-Type", "text/html");
          exchange.sendResponseHeaders(200, empty.length);
          exchange.getResponseBody().write(empty);
          exchange.close();
        });
    server.start();
    try {
      String blank = "http://127.0.0.1:" + server.getAddress().getPort() + "/";
      int rounds = options.size(20, 8);
      List<Report.Row> cold =
          Rounds.run(
              List.of(
                  contestant(EMPTY, browser, blank),
                  contestant("the dashboard, nothing cached", browser, page)),
              options.warm(2),
              rounds);
      browser.call("Network.setCacheDisabled", Json.object().put("cacheDisabled", false));
      var rows = new ArrayList<>(cold);
      rows.addAll(
          Rounds.run(
              List.of(contestant("the dashboard, again", browser, page)), options.warm(2), rounds));
      return new Report.Table("until the first useful paint", "ms", EMPTY, rows);
    } finally {
      server.stop(0);
    }
  }

  private static Rounds.Contestant contestant(String name, Chromium browser, String address) {
    return new Rounds.Contestant(
        name, Rounds.Step.NOTHING, () -> paint(browser, address), Rounds.Step.NOTHING);
  }

  private static Report.Table busy(Arena arena, ZlayerDaemon daemon, Chromium browser)
      throws Exception {
    Options options = arena.options();
    int containers = options.size("containers", 1_000, 40);
    var engine =
        new RestEngine(daemon, arena.gallery().busybox(), options.controlGroup() + "/dashboard");
    ScaleWork.all(containers, engine::startSleeper);
    try {
      browser.evaluate("location.hash = '#/containers'");
      browser.await(
          "document.querySelector('table')?.getAttribute('aria-rowcount') === '%d'"
              .formatted(containers));
      Duration window = Duration.ofSeconds(options.size(30, 10));
      var rows = new ArrayList<Report.Row>();
      Load still = load(daemon, browser, window, 0);
      Load watched = load(daemon, browser, window, containers);
      browser.evaluate("location.href = 'about:blank'");
      Load alone = load(daemon, browser, window, containers);
      String note = "%d containers, %d of them renamed/s".formatted(containers, CHANGES_PER_SECOND);
      rows.add(Report.Row.of(QUIET, alone.agent(), note));
      rows.add(Report.Row.of("the agent, page open", watched.agent(), note));
      rows.add(Report.Row.of("the browser", watched.browser(), note));
      rows.add(Report.Row.of("the agent, page open, idle", still.agent(), "no changes"));
      rows.add(Report.Row.of("the browser, idle", still.browser(), "no changes"));
      return new Report.Table("CPU of the dashboard", "% of a core", QUIET, rows);
    } finally {
      ScaleWork.all(containers, engine::remove);
    }
  }

  /** Percent of a core. */
  private record Load(double agent, double browser) {}

  /**
   * @param changing how many containers change in turn; none when zero
   */
  private static Load load(ZlayerDaemon daemon, Chromium browser, Duration window, int changing)
      throws Exception {
    double agent = daemon.cpuSeconds();
    double shown = browser.cpuSeconds();
    double seconds =
        Rounds.millis(
                () -> {
                  if (changing > 0) {
                    change(daemon, window, changing);
                  } else {
                    Pauses.REAL.pause(window);
                  }
                })
            / 1000;
    return new Load(
        100 * (daemon.cpuSeconds() - agent) / seconds,
        100 * (browser.cpuSeconds() - shown) / seconds);
  }

  /** Containers that get another name and their own again, as steadily as the agent allows. */
  private static void change(ZlayerDaemon daemon, Duration window, int containers)
      throws IOException, InterruptedException {
    long begin = System.nanoTime();
    long count = window.toSeconds() * CHANGES_PER_SECOND;
    for (long number = 0; number < count; number++) {
      String name = "s" + number / 2 % containers;
      String other = name + "-renamed";
      String from = number % 2 == 0 ? name : other;
      String to = number % 2 == 0 ? other : name;
      daemon.ask("POST", "/containers/" + from + "/rename?name=" + to, Json.Null.INSTANCE);
      long due = begin + (number + 1) * 1_000_000_000L / CHANGES_PER_SECOND;
      Pauses.REAL.pause(Duration.ofNanos(Math.max(0, due - System.nanoTime())));
    }
  }
}
