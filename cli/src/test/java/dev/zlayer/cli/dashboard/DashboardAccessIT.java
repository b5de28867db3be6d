package dev.zlayer.cli.dashboard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Who may use the dashboard of a daemon, and every way to be refused. */
@Timeout(120)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI})
class DashboardAccessIT {
  @TempDir static Path directory;
  private static DaemonFixture daemon;

  @BeforeAll
  static void start() {
    daemon = DaemonFixture.start(directory);
  }

  @AfterAll
  static void stop() {
    if (daemon != null) {
      daemon.close();
    }
  }

  /** A session as a browser has it. */
  private record Login(RawHttp http, String id, String cookie, String csrf, String setCookie) {
    Map<String, String> headers() {
      return Map.of("Cookie", cookie, "Origin", http.origin(), "X-CSRF-Token", csrf);
    }

    RawHttp.Answer get(String path) throws IOException {
      return http.send("GET", path, Map.of("Cookie", cookie), "");
    }

    RawHttp.Answer post(String path, Map<String, String> headers) throws IOException {
      return http.send("POST", path, headers, "");
    }
  }

  private static String link(String... options) {
    var words = new String[options.length + 1];
    words[0] = "dashboard";
    System.arraycopy(options, 0, words, 1, options.length);
    String link = daemon.ok(words).strip();
    assertThat(link).matches("http://127\\.0\\.0\\.1:\\d+/#token=[A-Za-z0-9_-]{43}");
    return link;
  }

  private static RawHttp.Answer login(RawHttp http, String secret) throws IOException {
    return http.send(
        "POST",
        "/session",
        Map.of("Origin", http.origin(), "Content-Type", "application/json"),
        "{\"token\":\"" + secret + "\"}");
  }

  private static String secret(String link) {
    return link.substring(link.indexOf('=') + 1);
  }

  private static Login login(String... options) throws IOException {
    String link = link(options);
    RawHttp http = RawHttp.to(link);
    RawHttp.Answer answer = login(http, secret(link));
    assertThat(answer.status()).as(answer.body()).isEqualTo(200);
    Json session = JsonText.parse(answer.body());
    String set = answer.header("set-cookie");
    return new Login(
        http,
        session.at("id").string().orElseThrow(),
        set.substring(0, set.indexOf(';')),
        session.at("csrf").string().orElseThrow(),
        set);
  }

  @Test
  void aLinkBeginsOneSessionWhoseCookieNoScriptReads() throws IOException {
    String link = link();
    RawHttp http = RawHttp.to(link);

    RawHttp.Answer first = login(http, secret(link));
    RawHttp.Answer second = login(http, secret(link));

    assertThat(first.status()).isEqualTo(200);
    assertThat(first.header("set-cookie"))
        .contains("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43")
        .doesNotContain("Secure"); // on loopback without TLS
    assertThat(second.status()).isEqualTo(401);
    assertThat(second.body()).contains("was used already", "zlayer dashboard");
    assertThat(second.header("set-cookie")).isEmpty();
  }

  @Test
  void aCookieThatSomebodyChoseBeforeTheLoginIsNoSession() throws IOException {
    String name = login().cookie().replaceAll("=.*", "");
    String chosen = name + "=" + "A".repeat(43);
    String link = link();
    RawHttp http = RawHttp.to(link);

    RawHttp.Answer answer =
        http.send(
            "POST",
            "/session",
            Map.of("Origin", http.origin(), "Content-Type", "application/json", "Cookie", chosen),
            "{\"token\":\"" + secret(link) + "\"}");

    assertThat(answer.status()).isEqualTo(200);
    assertThat(answer.header("set-cookie")).startsWith(name + "=").doesNotContain(chosen);
    assertThat(http.send("GET", "/api/v1/containers", Map.of("Cookie", chosen), "").status())
        .isEqualTo(401);
  }

  @Test
  void withoutASessionThereIsThePageAndNothingElse() throws IOException {
    RawHttp http = RawHttp.to(link());

    RawHttp.Answer page = http.send("GET", "/", Map.of(), "");
    RawHttp.Answer api = http.send("GET", "/api/v1/containers", Map.of(), "");
    RawHttp.Answer wrong =
        http.send("GET", "/api/v1/containers", Map.of("Cookie", "zlayer_x=guess"), "");
    RawHttp.Answer metrics = http.send("GET", "/metrics", Map.of(), "");

    assertThat(page.status()).isEqualTo(200);
    assertThat(page.header("content-security-policy"))
        .contains("default-src 'none'", "script-src 'self' 'sha256-", "frame-ancestors 'none'")
        .doesNotContain("script-src 'self' 'unsafe-inline'")
        .doesNotContain("unsafe-eval");
    assertThat(page.header("x-content-type-options")).isEqualTo("nosniff");
    assertThat(page.header("referrer-policy")).isEqualTo("no-referrer");
    assertThat(api.status()).isEqualTo(401);
    assertThat(api.body()).contains("zlayer dashboard");
    assertThat(wrong.status()).isEqualTo(401);
    assertThat(metrics.status()).isEqualTo(404);
    assertThat(http.send("GET", "/../../etc/passwd", Map.of(), "").status()).isIn(400, 404);
    assertThat(http.send("GET", "/files.txt", Map.of(), "").status()).isEqualTo(404);
    // its other files are named after their content, and kept by browsers
    String start = page.body().replaceAll("(?s).*src=\"([0-9a-f]{16}/start.js)\".*", "/$1");
    RawHttp.Answer script = http.send("GET", start, Map.of(), "");
    assertThat(script.status()).as(start).isEqualTo(200);
    assertThat(script.header("cache-control")).contains("immutable");
    assertThat(page.header("cache-control")).isEqualTo("no-store");
    assertThat(http.send("GET", "/start.js", Map.of(), "").status()).isEqualTo(404);
  }

  @Test
  void pagesOfOthersAndOtherNamesAreRefused() throws IOException {
    Login login = login();
    var foreign = new HashMap<>(login.headers());
    foreign.put("Origin", "http://evil.example");
    var none = new HashMap<>(login.headers());
    none.remove("Origin");

    assertThat(login.post("/api/v1/images/prune", foreign).status()).isEqualTo(403);
    assertThat(login.post("/api/v1/images/prune", none).status()).isEqualTo(403);
    assertThat(login.http().send("GET", "/api/v1/containers", foreign, "").status()).isEqualTo(403);
    RawHttp.Answer rebound =
        login
            .http()
            .send(
                "GET",
                "/api/v1/containers",
                Map.of("Cookie", login.cookie(), "Host", "evil.example:80"),
                "");
    assertThat(rebound.status()).isEqualTo(403);
    assertThat(rebound.body()).contains("'evil.example' is not a name of this agent");
    RawHttp.Answer crossSite =
        login
            .http()
            .send(
                "GET",
                "/api/v1/containers",
                Map.of("Cookie", login.cookie(), "Sec-Fetch-Site", "cross-site"),
                "");
    assertThat(crossSite.status()).isEqualTo(403);
    String link = link();
    assertThat(
            login
                .http()
                .send(
                    "POST",
                    "/session",
                    Map.of("Origin", "http://evil.example"),
                    "{\"token\":\"" + secret(link) + "\"}")
                .status())
        .isEqualTo(403);
    assertThat(login(login.http(), secret(link)).status()).as("the link is unused").isEqualTo(200);
  }

  @Test
  void aChangeNeedsTheTokenOfThePage() throws IOException {
    Login login = login();
    var without = new HashMap<>(login.headers());
    without.remove("X-CSRF-Token");
    var wrong = new HashMap<>(login.headers());
    wrong.put("X-CSRF-Token", "0".repeat(64));

    RawHttp.Answer refused = login.post("/api/v1/images/prune", without);

    assertThat(refused.status()).isEqualTo(403);
    assertThat(refused.body()).contains("X-CSRF-Token");
    assertThat(login.post("/api/v1/images/prune", wrong).status()).isEqualTo(403);
    assertThat(login.http().send("DELETE", "/session", without, "").status()).isEqualTo(403);
    assertThat(login.post("/api/v1/images/prune", login.headers()).status()).isEqualTo(200);
    assertThat(login.http().send("DELETE", "/session", login.headers(), "").status())
        .isEqualTo(204);
    assertThat(login.get("/api/v1/containers").status()).isEqualTo(401);
  }

  @Test
  void aTerminalNeedsItToo() throws IOException {
    Login login = login();
    var upgrade = new HashMap<>(login.headers());
    upgrade.putAll(
        Map.of(
            "Connection", "Upgrade",
            "Upgrade", "websocket",
            "Sec-WebSocket-Version", "13",
            "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="));
    String path = "/api/v1/containers/none/exec/ws?command=sh";
    var foreign = new HashMap<>(upgrade);
    foreign.put("Origin", "http://evil.example");

    assertThat(status(login, path, upgrade)).isEqualTo(403);
    assertThat(status(login, path + "&csrf=" + login.csrf(), foreign)).isEqualTo(403);
    assertThat(status(login, path + "&csrf=" + login.csrf(), upgrade)).isEqualTo(404);
  }

  /** Of the first line alone: a connection that is upgraded stays open. */
  private static int status(Login login, String path, Map<String, String> headers)
      throws IOException {
    try (Socket socket = login.http().open("GET", path, headers, "")) {
      InputStream in = socket.getInputStream();
      return Integer.parseInt(new String(in.readNBytes(12)).substring(9));
    }
  }

  @Test
  void aReadOnlySessionReads() throws IOException {
    Login login = login("--read-only");

    assertThat(login.get("/api/v1/containers").status()).isEqualTo(200);
    RawHttp.Answer change = login.post("/api/v1/images/prune", login.headers());
    assertThat(change.status()).isEqualTo(403);
    assertThat(change.body()).contains("the session is read-only");
    assertThat(login.get("/api/v1/backup").status()).isEqualTo(403);
    assertThat(login.get("/api/v1/containers/any/environment").status()).isEqualTo(403);
    assertThat(login.get("/api/v1/dashboard/sessions").status()).isEqualTo(403);
  }

  @Test
  void aSessionMakesNoLinks() throws IOException {
    Login login = login();

    RawHttp.Answer answer = login.post("/api/v1/dashboard/links", login.headers());

    assertThat(answer.status()).isEqualTo(403);
    assertThat(answer.body()).contains("a session makes no links").doesNotContain("#token=");
  }

  @Test
  void revokingEndsASessionAndItsStreamAtOnce() throws IOException {
    Login login = login("--expires", "2h");
    assertThat(daemon.ok("dashboard", "sessions")).contains(login.id(), "root", "full");
    try (Socket stream =
        login
            .http()
            .open(
                "GET",
                "/api/v1/events",
                Map.of("Cookie", login.cookie(), "Accept", "text/event-stream"),
                "")) {
      assertThat(new String(stream.getInputStream().readNBytes(12))).isEqualTo("HTTP/1.1 200");

      daemon.ok("dashboard", "revoke", login.id());

      stream.getInputStream().readAllBytes(); // until the daemon closes it
    }
    assertThat(login.get("/api/v1/containers").status()).isEqualTo(401);
    assertThat(daemon.ok("dashboard", "sessions")).doesNotContain(login.id());
    CliFixture.Result again = daemon.cli().run("dashboard", "revoke", login.id());
    assertThat(again.code()).isNotZero();
    assertThat(again.err()).contains("zlayer dashboard sessions");
  }

  @Test
  void whatASessionChangesIsInTheAuditLog() throws IOException {
    Login login = login();

    login.post("/api/v1/volumes/prune", login.headers());

    assertThat(daemon.ok("events", "--audit", "--json"))
        .contains("dashboard of root", "/volumes/prune", "/session")
        .doesNotContain(login.cookie())
        .doesNotContain(login.csrf());
  }

  @Test
  void anUnknownWordIsRefused() {
    CliFixture.Result result = daemon.cli().run("dashboard", "session");

    assertThat(result.code()).isNotZero();
    assertThat(result.err()).contains("use 'sessions' or 'revoke ID'");
  }
}
