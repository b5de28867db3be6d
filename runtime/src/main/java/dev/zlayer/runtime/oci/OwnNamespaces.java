package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerId;
import dev.zlayer.host.process.UserNamespace;
import dev.zlayer.runtime.lifecycle.ContainerState;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Makes the user namespace of a container, or finds it with the container it is shared with. */
record OwnNamespaces(OciContext context) {
  /** Holds a new network namespace until it was used or is not needed. */
  record Held(Optional<UserNamespace> namespace) implements AutoCloseable {
    /** A network namespace that belongs to the container's users. */
    Optional<Path> network() {
      return namespace.map(UserNamespace::network);
    }

    @Override
    public void close() {
      namespace.ifPresent(UserNamespace::close);
    }
  }

  /** For a container that is being made. */
  Held open(ContainerState state, Optional<UserMounts> users) throws IOException {
    if (users.isEmpty()) {
      return new Held(Optional.empty());
    }
    List<ContainerId> others = UserIds.sharedWith(state.record().spec());
    if (others.isEmpty()) {
      return new Held(Optional.of(users.get().pin()));
    }
    ContainerState other = Bundles.Others.state(context, others.getFirst());
    users.get().join(UserMounts.of(context, other).orElseThrow());
    return new Held(Optional.empty());
  }

  /**
   * For one that is about to start: it has what is shared as it is now, and makes anew what the
   * machine lost.
   */
  Held renew(ContainerState state, Optional<UserMounts> users, boolean network) throws IOException {
    boolean shared = !UserIds.sharedWith(state.record().spec()).isEmpty();
    boolean needed = users.isPresent() && (shared || network || !users.get().pinned());
    return needed ? open(state, users) : new Held(Optional.empty());
  }
}
