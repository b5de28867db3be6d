package dev.zlayer.daemon.http;

/** A request that never reached a route, with the status that HTTP has for it. */
@SuppressWarnings("serial")
public final class Refusal extends RuntimeException {
  private final int status;
  private final String title;

  private Refusal(int status, String title, String detail) {
    super(detail);
    this.status = status;
    this.title = title;
  }

  int status() {
    return status;
  }

  String title() {
    return title;
  }

  public static Refusal malformed(String detail) {
    return new Refusal(400, "BadRequest", detail);
  }

  static Refusal unauthorized() {
    return new Refusal(
        401, "Unauthorized", "this door needs a token: send 'Authorization: Bearer TOKEN'");
  }

  static Refusal forbidden(String detail) {
    return new Refusal(403, "Forbidden", detail);
  }

  static Refusal noRoute(String path) {
    return new Refusal(
        404, "NoRoute", "there is nothing at %s: see /api/v1/openapi.json".formatted(path));
  }

  static Refusal wrongMethod(String method, String path, String allowed) {
    return new Refusal(
        405, "MethodNotAllowed", "%s has no %s, only %s".formatted(path, method, allowed));
  }

  /** The thing is not as the caller has seen it. */
  public static Refusal changed(String detail) {
    return new Refusal(412, "PreconditionFailed", detail);
  }

  static Refusal tooLarge(long bytes) {
    return new Refusal(413, "TooLarge", "the body has more than %d bytes".formatted(bytes));
  }

  /** Whatever the server itself refused before we saw it. */
  static Refusal byServer(int status, String detail) {
    return new Refusal(status, "HttpError", detail);
  }
}
