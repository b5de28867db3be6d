package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.member.Cluster;
import dev.zlayer.cluster.member.NodeIdentity;
import dev.zlayer.daemon.http.ClusterListener;
import java.security.cert.X509Certificate;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Which nodes may use the listener of this one: those that belong to its cluster now. */
final class ClusterMembers implements ClusterListener.Members {
  private final Supplier<Optional<Cluster>> cluster;
  private volatile Consumer<String> removed = _ -> {};

  ClusterMembers(Supplier<Optional<Cluster>> cluster) {
    this.cluster = cluster;
  }

  @Override
  public Optional<String> node(X509Certificate shown) {
    return NodeIdentity.id(Authority.names(shown).toList());
  }

  @Override
  public Optional<ClusterListener.Refusal> refusal(String node, X509Certificate shown) {
    Optional<Cluster> now = cluster.get();
    if (now.isEmpty()) {
      return unknown(node);
    }
    try {
      return switch (now.get().standing(node)) {
        case MEMBER -> now.get().revoked(shown) ? replaced(node) : Optional.empty();
        case REMOVED ->
            Optional.of(
                new ClusterListener.Refusal(
                    true, "node %s was removed from the cluster".formatted(node)));
        case UNKNOWN -> unknown(node);
      };
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return unknown(node);
    }
  }

  /** The node itself belongs to the cluster: it must not take this for its removal. */
  private static Optional<ClusterListener.Refusal> replaced(String node) {
    return Optional.of(
        new ClusterListener.Refusal(
            false, "this certificate of node %s was replaced by another one".formatted(node)));
  }

  private static Optional<ClusterListener.Refusal> unknown(String node) {
    return Optional.of(
        new ClusterListener.Refusal(
            false, "node %s is not known to belong to the cluster".formatted(node)));
  }

  @Override
  public void onRemoved(Consumer<String> action) {
    removed = action;
  }

  /** From now on this node may not call. */
  void removed(String node) {
    removed.accept(node);
  }
}
