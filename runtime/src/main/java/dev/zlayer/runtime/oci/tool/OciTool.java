package dev.zlayer.runtime.oci.tool;

import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;

/**
 * An OCI runtime that was tried.
 *
 * @param problem why it cannot be used here; empty when it works
 * @param mountOptions what it says it understands; empty when it says nothing
 */
public record OciTool(
    String name, Path path, String version, Optional<String> problem, Set<String> mountOptions) {
  public OciTool {
    mountOptions = Set.copyOf(mountOptions);
  }

  public boolean works() {
    return problem.isEmpty();
  }
}
