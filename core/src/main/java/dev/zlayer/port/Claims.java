package dev.zlayer.port;

import java.util.Optional;

/** The claims that this node has in its cluster; see {@link dev.zlayer.container.Claim}. */
@FunctionalInterface
public interface Claims {
  /** For a node that is in no cluster, where nothing needs a claim. */
  Claims NONE = _ -> Optional.empty();

  /** Why a container that needs this claim must not start at the moment; does not block. */
  Optional<String> obstacle(String claim);
}
