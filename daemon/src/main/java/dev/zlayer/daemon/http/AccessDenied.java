package dev.zlayer.daemon.http;

/** A request that never reached a route, with the status that HTTP has for it. */
@SuppressWarnings("serial")
public final class AccessDenied extends RuntimeException {
  private final int status;
  private final String title;

  private AccessDenied(int status, String title, String detail) {
    super(detail);
    this.status = status;
    this.title = title;
  }

  public int status() {
    return status;
  }

  String title() {
    return title;
  }

  public static AccessDenied malformed(String detail) {
    return new AccessDenied(400, "BadRequest", detail);
  }

  static AccessDenied unauthorized() {
    return new AccessDenied(
        401,
        "Unauthorized",
        "a valid bearer token is required: send 'Authorization: Bearer TOKEN'");
  }

  /** The caller of a dashboard has no session, or its page did not prove that it is ours. */
  static AccessDenied withoutSession(int status, String detail) {
    return new AccessDenied(status, status == 401 ? "Unauthorized" : "Forbidden", detail);
  }

  /** A login whose link is of no use. */
  public static AccessDenied noLink(String detail) {
    return new AccessDenied(401, "Unauthorized", detail);
  }

  public static AccessDenied tooMany(String detail) {
    return new AccessDenied(429, "TooManyRequests", detail);
  }

  public static AccessDenied forbidden(String detail) {
    return new AccessDenied(403, "Forbidden", detail);
  }

  static AccessDenied noRoute(String path) {
    return new AccessDenied(
        404, "NoRoute", "there is nothing at %s: see /api/v1/openapi.json".formatted(path));
  }

  /** No file of the dashboard. */
  public static AccessDenied notThere(String path) {
    return new AccessDenied(404, "NoRoute", "there is nothing at " + path);
  }

  static AccessDenied wrongMethod(String method, String path, String allowed) {
    return new AccessDenied(
        405, "MethodNotAllowed", "%s has no %s, only %s".formatted(path, method, allowed));
  }

  /** The thing is not as the caller has seen it. */
  public static AccessDenied changed(String detail) {
    return new AccessDenied(412, "PreconditionFailed", detail);
  }

  static AccessDenied tooLarge(long bytes) {
    return new AccessDenied(413, "TooLarge", "the body has more than %d bytes".formatted(bytes));
  }

  /** Whatever the server itself refused before we saw it. */
  static AccessDenied byServer(int status, String detail) {
    return new AccessDenied(status, "HttpError", detail);
  }
}
