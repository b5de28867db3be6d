package dev.zlayer.port;

import java.net.InetAddress;
import java.util.List;
import java.util.Optional;

/** Whoever answers the names of services inside the networks of deployments. */
public interface DeploymentNames {
  /** Nobody answers. */
  DeploymentNames NONE =
      new DeploymentNames() {
        @Override
        public void open(String deployment, Range range) {}

        @Override
        public void close(String deployment) {}

        @Override
        public Optional<List<InetAddress>> find(String deployment, String name) {
          return Optional.empty();
        }
      };

  /** The domain below which every deployment has one of its own. */
  String DOMAIN = "zlayer.internal";

  /** Begins the key of a network that belongs to no deployment; its name follows. */
  String NETWORK = "network:";

  /** Knows the containers without a deployment. */
  @FunctionalInterface
  interface Containers {
    /**
     * Addresses of the containers of that name on a network; the name is in lower case.
     *
     * @param client who asks; one that is on several networks finds the names of all of them
     */
    List<InetAddress> find(String network, Optional<InetAddress> client, String name);

    /**
     * Whether whoever has this address is on internal networks alone: then a question that others
     * would answer is a way out, too, and is not passed on.
     */
    default boolean enclosed(InetAddress client) {
      return false;
    }
  }

  /**
   * Where a network is.
   *
   * @param gateway the machine's own address in it, at which containers ask for names
   */
  record Range(String bridge, InetAddress network, int prefixLength, InetAddress gateway) {}

  /** From now on questions from that range are answered for the deployment. */
  void open(String deployment, Range range) throws InterruptedException;

  /** The network is gone; one that was not open is fine. */
  void close(String deployment) throws InterruptedException;

  /**
   * The ready replicas behind a name, as a container of the deployment would be answered; empty
   * when the name is not one of the deployment.
   */
  Optional<List<InetAddress>> find(String deployment, String name);
}
