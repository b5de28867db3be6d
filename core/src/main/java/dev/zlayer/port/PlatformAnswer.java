package dev.zlayer.port;

import dev.zlayer.oci.Platform;
import java.util.List;

/** What is known about an image's platform. The three answers lead to three different reactions. */
public sealed interface PlatformAnswer {
  /** The image is for these (one, unless it is an index), and of this kind. */
  record Recognised(List<Platform> platforms, Capabilities.ArtifactKind kind)
      implements PlatformAnswer {
    public Recognised {
      platforms = List.copyOf(platforms);
    }
  }

  /** The image was read and says nothing usable. */
  record Unrecognised(String reason) implements PlatformAnswer {}

  /** The image could not be read; says nothing about it, and nothing known is forgotten. */
  record Failing(String reason) implements PlatformAnswer {}
}
