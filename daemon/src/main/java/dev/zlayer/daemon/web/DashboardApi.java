package dev.zlayer.daemon.web;

import dev.zlayer.daemon.http.AccessDenied;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.BrowserAccess;
import dev.zlayer.daemon.http.HttpApi;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.Router;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.spec.form.Doc;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the listener of the dashboard serves: the page, its session, and the REST API for those who
 * have one. Links are made on the other listeners alone, so that a session cannot prolong itself.
 */
final class DashboardApi implements HttpApi {
  private static final String API = "/api/";
  private static final String LINKS = "/api/v1/dashboard/links";

  private final HttpApi rest;
  private final StaticFiles files;
  private final DashboardSessions sessions;
  private final InstantSource clock;
  private final boolean tls;
  private final Router own;

  @Doc("The secret of a link.")
  public record Login(@Doc("What follows #token= in the link.") String token) {}

  DashboardApi(HttpApi rest, DashboardSessions sessions, InstantSource clock, boolean tls) {
    this.rest = rest;
    this.files = StaticFiles.load();
    this.sessions = sessions;
    this.clock = clock;
    this.tls = tls;
    this.own =
        new Router(
            "",
            List.of(
                Route.view(BrowserAccess.SESSION, "Show the session.", this::show),
                Route.post(BrowserAccess.SESSION, "Begin the session of a link.", this::login),
                Route.delete(BrowserAccess.SESSION, "End the session.", this::logout),
                Route.view("/{path*}", "A file of the page.", this::file)));
  }

  @Override
  public Router.Match find(String method, String path) {
    if (path.equals(LINKS)) {
      throw AccessDenied.forbidden(
          "a session makes no links for others: run 'zlayer dashboard' on the host");
    }
    if (path.startsWith(API)) {
      return rest.find(method, path);
    }
    return own.find(method, Router.segments(path.equals("/") ? "/index.html" : path));
  }

  /** The page itself holds no secret, and who logs in has no session yet. */
  @Override
  public boolean open(Route route) {
    return own.routes().contains(route);
  }

  @Override
  public Map<String, String> headers() {
    var headers = new HashMap<String, String>();
    headers.put("Content-Security-Policy", files.policy(""));
    headers.put("X-Content-Type-Options", "nosniff");
    headers.put("X-Frame-Options", "DENY");
    headers.put("Referrer-Policy", "no-referrer");
    headers.put("Cross-Origin-Opener-Policy", "same-origin");
    headers.put("Cross-Origin-Resource-Policy", "same-origin");
    headers.put("Cache-Control", "no-store");
    return headers;
  }

  @Override
  public ApiResponse.Whole problem(Throwable thrown, String requestId) {
    return rest.problem(thrown, requestId);
  }

  private ApiResponse file(ApiRequest call) {
    return files
        .find(call.path("path"), call)
        .orElseThrow(() -> AccessDenied.notThere("/" + call.path("path")));
  }

  private ApiResponse login(ApiRequest call) {
    DashboardSessions.Login login =
        sessions.login(
            call.body(Login.class).token(),
            call.remote().orElse("unknown"),
            call.header("User-Agent").orElse("unknown"));
    Duration left = Duration.between(clock.instant(), login.info().expires());
    return new ApiResponse.Whole(
        200,
        ApiRequest.JSON,
        JsonText.bytes(view(login.info(), login.cookie())),
        Map.of("Set-Cookie", cookie(login.cookie(), left)));
  }

  private ApiResponse show(ApiRequest call) {
    String value = cookie(call);
    return ApiResponse.json(view(info(value), value));
  }

  private ApiResponse logout(ApiRequest call) {
    if (call.token().isEmpty()) {
      throw AccessDenied.forbidden("the session cannot be ended: its page did not ask for it");
    }
    sessions.revoke(call.token().get());
    return new ApiResponse.Whole(
        204, "", new byte[0], Map.of("Set-Cookie", cookie("", Duration.ZERO)));
  }

  private DashboardSessions.Info info(String value) {
    return sessions
        .info(value)
        .orElseThrow(
            () ->
                AccessDenied.noLink(
                    "the session has ended or there is none: run 'zlayer dashboard'"));
  }

  private Json view(DashboardSessions.Info info, String value) {
    return Json.object()
        .put("id", info.id())
        .put("user", info.user())
        .put("read_only", info.readOnly())
        .put("expires", info.expires().toString())
        .put("csrf", sessions.find(value).orElseThrow().csrf())
        .build();
  }

  private String cookie(String value, Duration lifetime) {
    return "%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s"
        .formatted(sessions.cookie(), value, lifetime.toSeconds(), tls ? "; Secure" : "");
  }

  private String cookie(ApiRequest call) {
    String prefix = sessions.cookie() + "=";
    return call.header("Cookie").stream()
        .flatMap(text -> List.of(text.split(";", -1)).stream())
        .map(String::strip)
        .filter(part -> part.startsWith(prefix))
        .map(part -> part.substring(prefix.length()))
        .filter(value -> sessions.info(value).isPresent())
        .findFirst()
        .orElse("");
  }
}
