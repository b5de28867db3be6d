package dev.zlayer.host.http;

/**
 * How much of a peer's talk is listened to.
 *
 * @param headBytes status line and headers together; also trailers of a chunked body
 * @param headers number of headers
 * @param idleConnections kept open for the next request
 */
public record HttpLimits(int headBytes, int headers, int idleConnections) {
  public static final HttpLimits DEFAULT = new HttpLimits(64 << 10, 200, 4);
}
