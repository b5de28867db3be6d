package dev.zlayer.port;

import dev.zlayer.oci.Platform;
import java.util.Set;

/**
 * What a runtime serves and can do; read by the composite and by {@code zlayer info}.
 *
 * @param platforms an image for one of these runs here
 * @param artifacts kinds of image it can run
 * @param powers optional interfaces its containers implement
 */
public record Capabilities(
    Set<Platform> platforms, Set<ArtifactKind> artifacts, Set<Class<?>> powers) {
  public Capabilities {
    platforms = Set.copyOf(platforms);
    artifacts = Set.copyOf(artifacts);
    powers = Set.copyOf(powers);
  }

  /** What an image contains. */
  public enum ArtifactKind {
    /** Layers of a root file system. */
    ROOT_FILE_SYSTEM,
    /** A WebAssembly module. */
    WASM_MODULE
  }

  public boolean serves(Platform image) {
    return platforms.stream().anyMatch(platform -> platform.runs(image));
  }
}
