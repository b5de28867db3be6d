package dev.zlayer.cluster.deploy;

/**
 * Whether this node has been given the secrets of what it is to begin. Nothing begins before: it
 * would fail for a secret that arrives a moment later.
 */
public interface SecretGate {
  /** Everything begins at once. */
  SecretGate OPEN =
      new SecretGate() {
        @Override
        public boolean applies(ClusterState state, String deployment, Desired.File file) {
          return true;
        }

        @Override
        public boolean starts(ClusterState state, ClusterExecution execution) {
          return true;
        }
      };

  /** Whether an assignment can be applied. */
  boolean applies(ClusterState state, String deployment, Desired.File file);

  /** Whether an execution of this node can start. */
  boolean starts(ClusterState state, ClusterExecution execution);
}
