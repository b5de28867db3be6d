package dev.zlayer.daemon.http;

import org.eclipse.jetty.http.HostPortHttpField;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.internal.HttpConnection;

/**
 * Connections on which an empty {@code Host} is taken for a name. Clients of Docker send it on unix
 * sockets when they take over a connection, and the server refuses it without a setting for it.
 */
final class BlankHostConnections extends HttpConnectionFactory {
  BlankHostConnections(HttpConfiguration http) {
    super(http);
  }

  @Override
  public Connection newConnection(Connector connector, EndPoint endPoint) {
    return configure(
        new HttpConnection(getHttpConfiguration(), connector, endPoint) {
          @Override
          protected RequestHandler newRequestHandler() {
            return new RequestHandler() {
              @Override
              public void parsedHeader(HttpField field) {
                boolean blank =
                    field.getHeader() == HttpHeader.HOST
                        && (field.getValue() == null || field.getValue().isBlank());
                super.parsedHeader(blank ? new HostPortHttpField("localhost") : field);
              }
            };
          }
        },
        connector,
        endPoint);
  }
}
