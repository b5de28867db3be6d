package dev.zlayer.engine.init;

import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Optional;

/**
 * Names of services of the same deployment. The host's resolver does not know them, so steps that
 * wait for a sibling ask here first.
 */
@FunctionalInterface
interface SiblingNames {
  /** As {@link dev.zlayer.port.DeploymentNames#find} for one deployment. */
  Optional<List<InetAddress>> lookup(String name);

  /**
   * A ready replica; empty when the name is not one of the deployment.
   *
   * @throws IOException no replica of it is ready
   */
  default Optional<InetAddress> find(String name) throws IOException {
    Optional<List<InetAddress>> found = lookup(name);
    if (found.isPresent() && found.get().isEmpty()) {
      throw new IOException("no replica of '%s' is ready".formatted(name));
    }
    return found.map(List::getFirst);
  }
}
