package dev.zlayer.proxy.ingress;

/**
 * What HAProxy writes about each request: the backend, the time, and what {@link AccessLogReader}
 * turns into JSON when somebody reads it, since each expression costs every request. What clients
 * send is captured and written within quotes, with signs that could end them as {@code #} and two
 * digits. A line is written at once and whole as long as it has at most 4,096 bytes, so it is cut
 * to fit even when every character of it is written so. Each begins with a byte that is nowhere
 * else in it, since HAProxy also writes messages of its own there, and not always a line end behind
 * them. Pure.
 */
final class AccessLogRules {
  private AccessLogRules() {}

  /** Of the first line of a request; HAProxy copies it in any case. */
  static final int LONGEST_REQUEST = 800;

  /** In a frontend for requests; the id is that of HAProxy. */
  static String frontend() {
    return """
      log %s len 4090 format raw local1 info
      capture request header host len 100
      capture request header user-agent len 128
      capture request header referer len 128
      log-format %s
    """
        .formatted(
            AccessLog.DESCRIPTOR,
            format("%b %Ts.%ms %ci %ST %B %U %Ta %Tr %si:%sp %ts %ID %{+Q}hrl %{+Q}r"));
  }

  /** The same for connections, of which only the name in the handshake is known. */
  static String stream() {
    return """
      log %s len 4090 format raw local1 info
      log-format %s
    """
        .formatted(
            AccessLog.DESCRIPTOR, format("%b %Ts.%ms %ci - %B %U %Tt - %si:%sp %ts - %{+Q}hrl"));
  }

  /** When the name is known. */
  static String streamName() {
    return "  tcp-request content capture var(sess.name) len 100\n";
  }

  private static String format(String fields) {
    return "\\x1e" + fields.replace(" ", "\\ ");
  }
}
