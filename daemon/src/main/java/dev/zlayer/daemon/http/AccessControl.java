package dev.zlayer.daemon.http;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.eclipse.jetty.server.Request;

/**
 * Who may come in, by the door they came to. Pages of browsers may not: no request with an {@code
 * Origin} is served, so that no site a person visits can use their access. On TCP the {@code Host}
 * has to be one of ours, so that a foreign name that leads here gets nothing.
 */
final class AccessControl {
  /**
   * One door.
   *
   * @param token what a caller has to show
   * @param hosts names under which this door may be called; empty for any
   */
  record Rules(boolean readOnly, Optional<String> token, Set<String> hosts) {
    Rules {
      hosts = Set.copyOf(hosts);
    }
  }

  private final Map<String, Rules> doors;

  /** Rules by the name of the connector. */
  AccessControl(Map<String, Rules> doors) {
    this.doors = Map.copyOf(doors);
  }

  void admit(Request request) {
    Rules rules = rules(request);
    if (request.getHeaders().get("Origin") != null) {
      throw AccessDenied.forbidden("requests from browsers are rejected");
    }
    if (!rules.hosts().isEmpty() && !rules.hosts().contains(host(request))) {
      throw AccessDenied.forbidden(
          "'%s' is not a name of this agent: add it to 'hosts' in its configuration"
              .formatted(host(request)));
    }
    if (rules.token().isPresent() && !shows(request, rules.token().get())) {
      throw AccessDenied.unauthorized();
    }
  }

  void admit(Request request, Route route) {
    if (rules(request).readOnly() && !route.viewable()) {
      throw AccessDenied.forbidden("the read-only socket does not offer this");
    }
  }

  private Rules rules(Request request) {
    Rules rules = doors.get(request.getConnectionMetaData().getConnector().getName());
    if (rules == null) {
      throw AccessDenied.forbidden("this listener has no access rules");
    }
    return rules;
  }

  private static String host(Request request) {
    String host = Request.getServerName(request);
    return host == null ? "" : host.toLowerCase(Locale.ROOT);
  }

  /** Compares in a time that does not depend on how much is right. */
  private static boolean shows(Request request, String token) {
    String header = request.getHeaders().get("Authorization");
    return header != null
        && MessageDigest.isEqual(
            header.getBytes(StandardCharsets.UTF_8),
            ("Bearer " + token).getBytes(StandardCharsets.UTF_8));
  }
}
