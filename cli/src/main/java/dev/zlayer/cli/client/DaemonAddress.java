package dev.zlayer.cli.client;

import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.host.http.HttpAddress;
import java.io.IOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Where the daemon listens, and what to say when it does not.
 *
 * @param token proves who asks, over the network
 */
public record DaemonAddress(HttpAddress http, Optional<String> token) {
  public static DaemonAddress local(Path socket) {
    return new DaemonAddress(new HttpAddress.Unix(socket), Optional.empty());
  }

  /** Whether a daemon that we may start would listen here. */
  public boolean local() {
    return http instanceof HttpAddress.Unix;
  }

  /** A failed exchange: nobody there, nobody for us, or gone in the middle. */
  ConnectionLost explain(AgentException.Network failure) {
    Throwable cause = failure.getCause();
    String reason = cause == null ? "" : String.valueOf(cause.getMessage());
    return switch (http) {
      case HttpAddress.Unix(Path socket) -> explain(socket, reason, failure);
      case HttpAddress.Program program ->
          cause instanceof ConnectException
              ? new DaemonNotRunning(
                  "cannot connect to the daemon at %s: %s".formatted(program, reason),
                  Blame.OUTSIDE,
                  failure)
              : lost(reason, failure);
      case HttpAddress.Tcp _, HttpAddress.Tls _ ->
          cause instanceof ConnectException
                  || cause instanceof NoRouteToHostException
                  || cause instanceof UnknownHostException
              ? new DaemonNotRunning(
                  "cannot connect to the daemon at %s (%s); check ZLAYER_HOST and that the daemon listens on TCP"
                      .formatted(http, reason),
                  Blame.OUTSIDE,
                  failure)
              : lost(reason, failure);
    };
  }

  private static ConnectionLost explain(
      Path socket, String reason, AgentException.Network failure) {
    if (reason.contains("ermission denied") || hidden(socket)) {
      return DaemonNotRunning.denied(
          "permission denied on %s; run as root or add yourself to the group that owns the socket"
              .formatted(socket),
          failure);
    }
    if (failure.getCause() instanceof ConnectException || !Files.exists(socket)) {
      return new DaemonNotRunning(
          "no daemon is running at %s; start one with 'zlayer daemon start'".formatted(socket),
          Blame.SELF,
          failure);
    }
    return lost(reason, failure);
  }

  /** Whether the directory around it does not let us look. */
  private static boolean hidden(Path socket) {
    Path directory = socket.toAbsolutePath().getParent();
    try {
      if (directory != null) {
        directory.getFileSystem().provider().checkAccess(directory);
      }
      return false;
    } catch (java.nio.file.AccessDeniedException _) {
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  private static ConnectionLost lost(String reason, AgentException.Network failure) {
    return new ConnectionLost(
        "connection to the daemon lost%s".formatted(reason.isEmpty() ? "" : ": " + reason),
        failure);
  }
}
