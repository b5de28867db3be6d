package dev.zlayer.daemon.http;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.eclipse.jetty.server.Request;

/** Makes the record of a request: names only, since parameters and bodies may hold secrets. */
final class AuditEntries {
  /** Parameters that name what a request is about. */
  private static final List<String> NAMES = List.of("ref", "name", "deployment", "service");

  private static final int LONGEST = 256;

  private AuditEntries() {}

  static AuditSink.Entry of(
      Request request,
      Caller caller,
      Router.Match match,
      ApiRequest.Transport transport,
      int status) {
    var object = new TreeMap<String, String>();
    for (String name : NAMES) {
      transport.query(name).stream().findFirst().ifPresent(value -> object.put(name, cut(value)));
    }
    match.variables().forEach((name, value) -> object.put(name, cut(value)));
    return new AuditSink.Entry(
        caller.listener(),
        caller.who(),
        remote(request),
        request.getMethod(),
        match.route().template(),
        object,
        status);
  }

  /** One that may not even ask. What it sent is worth nothing. */
  static AuditSink.Entry unknown(Request request, String listener, int status) {
    return new AuditSink.Entry(
        listener, "unknown", remote(request), cut(request.getMethod()), "-", Map.of(), status);
  }

  private static Optional<String> remote(Request request) {
    return address(request.getConnectionMetaData().getRemoteSocketAddress());
  }

  /** An address of the network; the other end of a unix socket has none. */
  static Optional<String> address(SocketAddress remote) {
    return remote instanceof InetSocketAddress address
        ? Optional.of(address.getHostString() + ":" + address.getPort())
        : Optional.empty();
  }

  private static String cut(String text) {
    return text.length() <= LONGEST ? text : text.substring(0, LONGEST);
  }
}
