package dev.zlayer.host.probe;

import java.nio.file.Path;
import java.util.Optional;

/**
 * A program of the host that zlayer uses, present or not.
 *
 * @param purpose completes "it is needed to ..."
 * @param path where it was found; empty when it is absent
 * @param version as it tells itself; empty when absent or when it does not say
 * @param debianPackage what to install when it is absent; empty when Debian has no package
 */
public record HostPart(
    String name,
    String purpose,
    Optional<Path> path,
    Optional<String> version,
    String debianPackage) {
  public boolean present() {
    return path.isPresent();
  }

  /** What to do about an absent part. */
  public String advice() {
    return debianPackage.isEmpty()
        ? name + " is not packaged by Debian: install it by hand"
        : "apt install " + debianPackage;
  }
}
