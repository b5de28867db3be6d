package dev.zlayer.daemon.http;

import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.eclipse.jetty.http.HttpCookie;
import org.eclipse.jetty.server.Request;

/**
 * What a browser has to show on the listener of the dashboard. Its page comes from here, so nobody
 * else's page may send anything: the {@code Origin} is this listener, and a change carries the
 * token against cross-site requests besides the cookie, which a browser sends on its own.
 */
public final class BrowserAccess {
  public static final String CSRF = "X-CSRF-Token";

  /** Where a page begins and ends its session. */
  public static final String SESSION = "/session";

  private static final Set<String> SAFE = Set.of("GET", "HEAD");
  private static final Set<String> OWN_PAGES = Set.of("same-origin", "none");

  private final BrowserSessions sessions;
  private final boolean tls;

  BrowserAccess(BrowserSessions sessions, boolean tls) {
    this.sessions = sessions;
    this.tls = tls;
  }

  /** Who sends this. Without a session it may use what needs none. */
  Caller admit(Request request, String listener, TokenConnections connections) {
    boolean changes = changes(request);
    requireOwnPage(request, changes);
    Optional<BrowserSessions.Session> session = session(request);
    if (session.isEmpty()) {
      return anonymous(
          listener, 401, "the session has ended or there is none: run 'zlayer dashboard'");
    }
    if (changes && !RandomSecret.equal(session.get().csrf(), csrf(request))) {
      return anonymous(
          listener, 403, "the token against cross-site requests is missing: send " + CSRF);
    }
    Tokens.Token token = session.get().token();
    connections.add(token, request);
    if (request.getMethod().equals("DELETE") && SESSION.equals(request.getHttpURI().getPath())) {
      connections.forget(token.id(), request);
    }
    if (session(request).isEmpty()) {
      connections.close(token.id()); // revoked while the connection was being remembered
      return anonymous(listener, 401, "the session was revoked: run 'zlayer dashboard'");
    }
    return new Caller(
        listener, "dashboard of " + token.name(), token.access(), Optional.of(token.id()));
  }

  private static Caller anonymous(String listener, int status, String reason) {
    return new Caller(
        listener, "unknown", new Caller.Access.Anonymous(status, reason), Optional.empty());
  }

  /** A WebSocket is asked for with GET, and what is typed there changes things. */
  private static boolean changes(Request request) {
    return !SAFE.contains(request.getMethod()) || upgrades(request);
  }

  private static boolean upgrades(Request request) {
    return request.getHeaders().get("Upgrade") != null;
  }

  private void requireOwnPage(Request request, boolean changes) {
    String origin = request.getHeaders().get("Origin");
    String own = (tls ? "https://" : "http://") + request.getHeaders().get("Host");
    if (origin == null ? changes : !origin.equalsIgnoreCase(own)) {
      throw AccessDenied.forbidden(
          "the request is not from a page of this dashboard (Origin: %s)"
              .formatted(origin == null ? "none" : origin));
    }
    String site = request.getHeaders().get("Sec-Fetch-Site");
    boolean document = "navigate".equals(request.getHeaders().get("Sec-Fetch-Mode"));
    if (site != null && !document && !OWN_PAGES.contains(site.toLowerCase(Locale.ROOT))) {
      throw AccessDenied.forbidden("the request is from another site");
    }
  }

  private Optional<BrowserSessions.Session> session(Request request) {
    List<HttpCookie> cookies = Request.getCookies(request);
    return cookies.stream()
        .filter(cookie -> cookie.getName().equals(sessions.cookie()))
        .map(HttpCookie::getValue)
        .filter(Objects::nonNull)
        .flatMap(value -> sessions.find(value).stream())
        .findFirst();
  }

  /** Pages cannot give a WebSocket a header. */
  private static String csrf(Request request) {
    String shown =
        upgrades(request)
            ? Request.extractQueryParameters(request).getValue("csrf")
            : request.getHeaders().get(CSRF);
    return shown == null ? "" : shown;
  }
}
