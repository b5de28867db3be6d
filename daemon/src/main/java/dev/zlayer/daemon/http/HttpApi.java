package dev.zlayer.daemon.http;

import java.util.Map;

/** One API as a listener serves it: its routes, and the words for what fails. */
public interface HttpApi {
  /**
   * The route of a request.
   *
   * @param path as it was sent, still encoded
   * @throws AccessDenied nothing is there, or the method is another one
   */
  Router.Match find(String method, String path);

  /** Whether a route is for callers without a session, too. */
  default boolean open(Route route) {
    return false;
  }

  /** Headers of every answer. */
  Map<String, String> headers();

  /** How a failure is reported when nothing was sent yet. */
  ApiResponse.Whole problem(Throwable thrown, String requestId);

  /** Whether a failure is a refusal, which is the caller's to read and no fault of the agent. */
  default boolean refusal(Throwable thrown) {
    return thrown instanceof AccessDenied;
  }

  /**
   * Whether a slash in a name may be sent encoded, empty parts of a path count as none, and an
   * empty name of the host as any.
   */
  default boolean lenient() {
    return false;
  }
}
