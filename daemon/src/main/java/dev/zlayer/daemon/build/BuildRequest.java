package dev.zlayer.daemon.build;

import dev.zlayer.oci.ImageRef;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What to build.
 *
 * @param dockerfile its path in the context
 * @param target the stage to stop at
 * @param limits of memory, processors and files, in words of the builder: {@code --memory=64m}
 */
public record BuildRequest(
    List<ImageRef> tags,
    String dockerfile,
    Map<String, String> arguments,
    Map<String, String> labels,
    Optional<String> target,
    List<String> extraHosts,
    List<String> limits,
    boolean pull,
    Network network) {
  /** What commands of the build reach. */
  public enum Network {
    /** What a container on the default network reaches. */
    DEFAULT,
    HOST,
    NONE
  }

  public BuildRequest {
    tags = List.copyOf(tags);
    arguments = Map.copyOf(arguments);
    labels = Map.copyOf(labels);
    extraHosts = List.copyOf(extraHosts);
    limits = List.copyOf(limits);
  }
}
