package dev.zlayer.image.registry;

import dev.zlayer.port.RegistryAuth;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * How to speak to one registry host.
 *
 * @param mirrors asked first, in this order; {@code [scheme://]host[:port][/prefix]}
 * @param plainHttp absent means: only on the loopback interface
 * @param caFile PEM certificates that are trusted for this host besides the system's
 * @param offline the host itself is never asked; its mirrors are
 */
public record HostConfig(
    List<String> mirrors,
    Optional<Boolean> plainHttp,
    Optional<RegistryAuth> credentials,
    Optional<Path> caFile,
    boolean offline) {
  static final HostConfig DEFAULT =
      new HostConfig(List.of(), Optional.empty(), Optional.empty(), Optional.empty(), false);

  public HostConfig {
    mirrors = List.copyOf(mirrors);
  }

  /** Nothing says whether it speaks TLS, and whose certificates count. */
  boolean uncertain() {
    return plainHttp.isEmpty() && caFile.isEmpty();
  }
}
