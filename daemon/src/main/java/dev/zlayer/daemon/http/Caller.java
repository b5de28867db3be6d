package dev.zlayer.daemon.http;

import java.util.Optional;

/**
 * Who sent a request.
 *
 * @param listener by which listener: the path of a socket, or {@code tcp}
 * @param who as far as known: a user of this host, a token's name, a certificate's subject
 * @param token the id of the scoped token or the session that was shown
 */
public record Caller(String listener, String who, Access access, Optional<String> token) {
  /** What a caller may do. */
  public sealed interface Access {
    /** Everything. */
    record Full() implements Access {}

    /**
     * What needs no session: the page of the dashboard and the login.
     *
     * @param reason why the caller has no session
     */
    record Anonymous(int status, String reason) implements Access {}

    /** What the read-only socket offers. */
    record ReadOnly() implements Access {}

    /** One deployment, as {@link DeploymentScope} says of each route. */
    record Deployment(String name) implements Access {}
  }

  /** The only deployment that the caller may see, if it is limited to one. */
  public Optional<String> deployment() {
    return access instanceof Access.Deployment(String name) ? Optional.of(name) : Optional.empty();
  }
}
