package dev.zlayer.port;

import java.net.InetAddress;
import java.util.List;
import java.util.Optional;

/** Gives every deployment a network of its own, in which its services find each other by name. */
public interface DeploymentNetworks {
  /** All containers on the default network, without names. */
  DeploymentNetworks SHARED =
      new DeploymentNetworks() {
        @Override
        public Network make(String deployment) {
          return new Network(Optional.empty(), List.of(), List.of());
        }

        @Override
        public void remove(String deployment) {}
      };

  /**
   * What a container needs to be in it.
   *
   * @param name for {@link dev.zlayer.container.NetworkSpec.Mode.Bridge}; absent is the default
   * @param dns name servers for containers that name none themselves
   * @param search domains in which short names are looked up
   */
  record Network(Optional<String> name, List<InetAddress> dns, List<String> search) {
    public Network {
      dns = List.copyOf(dns);
      search = List.copyOf(search);
    }
  }

  /** The network of the deployment, made when it is not there; the same answer each time. */
  Network make(String deployment) throws InterruptedException;

  /** Takes it away; one that is not there is fine. Called after the last container is gone. */
  void remove(String deployment) throws InterruptedException;
}
