package dev.zlayer.daemon.http;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.security.cert.X509Certificate;
import java.util.Optional;
import jdk.net.ExtendedSocketOptions;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Request;

/** What is known of the other end of a connection. */
final class PeerNames {
  private PeerNames() {}

  /** The user that opened a connection to a unix socket, as the kernel says. */
  static String user(Request request) {
    EndPoint endPoint = request.getConnectionMetaData().getConnection().getEndPoint();
    if (endPoint.getTransport() instanceof SocketChannel channel) {
      try {
        return "user " + channel.getOption(ExtendedSocketOptions.SO_PEERCRED).user().getName();
      } catch (IOException | UnsupportedOperationException _) {
        return "unknown user"; // the caller has closed it already
      }
    }
    return "unknown user";
  }

  /** The subject of the certificate that the caller has shown and the listener has verified. */
  static Optional<String> certificate(Request request) {
    return own(request).map(PeerNames::certificate);
  }

  /** That certificate itself. */
  static Optional<X509Certificate> own(Request request) {
    return Optional.ofNullable(request.getAttribute(EndPoint.SslSessionData.ATTRIBUTE))
        .map(EndPoint.SslSessionData.class::cast)
        .map(EndPoint.SslSessionData::peerCertificates)
        .filter(chain -> chain.length > 0)
        .map(chain -> chain[0]);
  }

  private static String certificate(X509Certificate own) {
    return "certificate " + own.getSubjectX500Principal().getName();
  }
}
