package dev.zlayer.daemon.http;

import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import org.eclipse.jetty.server.Request;

/** Names requests: as the caller does, if its name is harmless, else by chance. */
final class RequestIds {
  private RequestIds() {}

  static String of(Request request) {
    String given = request.getHeaders().get("X-Request-Id");
    return given != null && given.matches("[A-Za-z0-9_.-]{1,64}")
        ? given
        : HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
  }
}
