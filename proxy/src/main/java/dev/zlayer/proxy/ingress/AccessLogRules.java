package dev.zlayer.proxy.ingress;

/**
 * What HAProxy writes about each request: the backend, the time, and JSON. A line is written at
 * once and whole as long as it has at most 4,096 bytes, so what clients send is cut to fit even
 * when every character of it is escaped. Each begins with a byte that JSON cannot hold, since
 * HAProxy also writes messages of its own there, and not always a line end behind them. Pure.
 */
final class AccessLogRules {
  private AccessLogRules() {}

  /** In a frontend; the backend is in {@code txn.backend}, the id in {@code txn.id}. */
  static String frontend() {
    return """
      log %s len 4090 format raw local1 info
      http-request set-var(txn.log_host) req.hdr(host),bytes(0,100),json(utf8s)
      http-request set-var(txn.log_uri) pathq,bytes(0,600),json(utf8s)
      http-request set-var(txn.log_agent) req.hdr(user-agent),bytes(0,128),json(utf8s)
      http-request set-var(txn.log_referer) req.hdr(referer),bytes(0,128),json(utf8s)
      log-format %s
    """
        .formatted(
            AccessLog.DESCRIPTOR,
            """
            \\x1e%[var(txn.backend)] %Ts.%ms {"client":"%ci","method":"%HM","host":"%[var(txn.log_host)]",\
            "uri":"%[var(txn.log_uri)]","protocol":"%HV","status":%ST,"bytes":%B,"request_bytes":%U,\
            "ms":%Ta,"response_ms":%Tr,"replica":"%si:%sp","end":"%ts",\
            "agent":"%[var(txn.log_agent)]","referer":"%[var(txn.log_referer)]","id":"%[var(txn.id)]"}\
            """
                .replace("\"", "\\\"")
                .replace(" ", "\\ "));
  }

  /** The same for connections, of which only the name in the handshake is known. */
  static String stream() {
    return """
      log %s len 4090 format raw local1 info
      log-format %s
    """
        .formatted(
            AccessLog.DESCRIPTOR,
            """
            \\x1e%b %Ts.%ms {"client":"%ci","host":"%[var(sess.log_host)]","protocol":"TLS",\
            "bytes":%B,"request_bytes":%U,"ms":%Tt,"replica":"%si:%sp","end":"%ts"}\
            """
                .replace("\"", "\\\"")
                .replace(" ", "\\ "));
  }
}
