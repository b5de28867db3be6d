package dev.zlayer.runtime.oci.tool;

import dev.zlayer.host.process.SealedProgram;
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

  /**
   * Whether its exec sends the terminal to a socket and stays until the process has ended. runc
   * sends it only when it leaves at once, and then nobody learns how the process ended.
   */
  public boolean sendsTerminals() {
    return version.startsWith("crun version");
  }

  /**
   * It as it is started, where that is faster from a copy in memory: crun makes one of itself for
   * each verb. runc does for few, and is no faster without.
   */
  public Optional<SealedProgram> sealed() {
    return version.startsWith("crun version")
        ? Optional.of(SealedProgram.of(path))
        : Optional.empty();
  }
}
