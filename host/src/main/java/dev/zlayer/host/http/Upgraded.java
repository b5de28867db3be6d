package dev.zlayer.host.http;

/** The answer to a request to leave HTTP. */
public sealed interface Upgraded {
  /** From here on the connection is the caller's. */
  record Accepted(HttpHeaders headers, Duplex connection) implements Upgraded {}

  /** The server answered in HTTP; the caller closes the response. */
  record Refused(HttpResponse response) implements Upgraded {}
}
