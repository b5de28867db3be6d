package dev.zlayer.daemon.http;

import java.net.InetSocketAddress;
import java.security.cert.X509Certificate;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import javax.net.ssl.SSLContext;

/**
 * The listener for other nodes of a cluster, which show their certificates. A node that wants to
 * join has none yet: the one route that it may use asks for its token.
 */
public record ClusterListener(InetSocketAddress address, SSLContext tls, Members members) {
  static final String NAME = "cluster";

  /** The only deployment that a node asks for, as its own caller has a token for that one alone. */
  public static final String DEPLOYMENT = "Zlayer-Deployment";

  /** Which nodes may call. A certificate alone is not enough: it outlives a node's removal. */
  public interface Members {
    /** The node that a certificate is for. */
    Optional<String> node(X509Certificate shown);

    /** Why this node may not call with this certificate; empty when it may. */
    Optional<Refusal> refusal(String node, X509Certificate shown);

    /** Is told every node that may not call any more. */
    void onRemoved(Consumer<String> action);
  }

  /**
   * Why a node is refused.
   *
   * @param removed whether it is certain that it does not belong to the cluster any more
   */
  public record Refusal(boolean removed, String reason) {}

  AccessControl.Rules rules() {
    return new AccessControl.Rules(
        NAME, false, Optional.empty(), false, Set.of(), Optional.empty(), Optional.of(members));
  }
}
