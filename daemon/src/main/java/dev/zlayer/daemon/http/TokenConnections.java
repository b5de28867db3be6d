package dev.zlayer.daemon.http;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Request;

/**
 * The open connections of each scoped token, and of each node of a cluster, so that its removal or
 * expiry ends them at once: what they stream, and what they would ask next.
 */
final class TokenConnections {
  private final Map<String, Set<EndPoint>> open = new ConcurrentHashMap<>();

  /** Remembers the connection of a request; closed ones of the same token are forgotten. */
  void add(Tokens.Token token, Request request) {
    if (add(token.id(), request)) {
      token.expires().ifPresent(end -> closeAt(token.id(), end, request));
    }
  }

  /** The same under any name; returns whether it is the first one of that name. */
  boolean add(String name, Request request) {
    EndPoint endPoint = request.getConnectionMetaData().getConnection().getEndPoint();
    boolean[] first = {false};
    open.compute(
        name,
        (_, known) -> {
          first[0] = known == null;
          Set<EndPoint> connections = known == null ? ConcurrentHashMap.newKeySet() : known;
          connections.removeIf(connection -> !connection.isOpen());
          connections.add(endPoint);
          return connections;
        });
    return first[0];
  }

  /** The connection by which a session is ended stays until the answer is sent. */
  void forget(String token, Request request) {
    EndPoint endPoint = request.getConnectionMetaData().getConnection().getEndPoint();
    open.computeIfPresent(
        token,
        (_, known) -> {
          known.remove(endPoint);
          return known;
        });
  }

  /** One timer for each token, however many requests it makes. */
  private void closeAt(String token, Instant end, Request request) {
    long left = Math.max(0, Duration.between(Instant.now(), end).toMillis());
    Object _ =
        request
            .getConnectionMetaData()
            .getConnector()
            .getScheduler()
            .schedule(() -> close(token), left, TimeUnit.MILLISECONDS);
  }

  void close(String token) {
    Optional.ofNullable(open.remove(token))
        .ifPresent(connections -> connections.forEach(EndPoint::close));
  }
}
