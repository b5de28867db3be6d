package dev.zlayer.port;

import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * An image with what its configuration says.
 *
 * @param author empty when it names none
 */
public record ImageDetails(
    ImageInfo info,
    Digest config,
    List<Layer> layers,
    Map<String, String> annotations,
    String author,
    RunConfig run,
    List<HistoryEntry> history) {
  public ImageDetails {
    layers = List.copyOf(layers);
    annotations = Map.copyOf(annotations);
    history = List.copyOf(history);
  }

  /** A layer as downloaded and, for file system layers, as unpacked. */
  public record Layer(Digest digest, Optional<Digest> diffId, long bytes, String mediaType) {}

  /**
   * How the image wants to be run.
   *
   * @param healthcheck how its health is checked, as its configuration says it; null when it says
   *     nothing
   */
  public record RunConfig(
      List<String> entrypoint,
      List<String> command,
      List<String> env,
      Optional<String> workdir,
      Optional<String> user,
      List<String> exposedPorts,
      List<String> volumes,
      Map<String, String> labels,
      Optional<String> stopSignal,
      Json healthcheck) {
    public RunConfig {
      entrypoint = List.copyOf(entrypoint);
      command = List.copyOf(command);
      env = List.copyOf(env);
      exposedPorts = List.copyOf(exposedPorts);
      volumes = List.copyOf(volumes);
      labels = Map.copyOf(labels);
    }
  }

  /** How a layer came to be, as the builder noted. */
  public record HistoryEntry(
      Optional<Instant> createdAt, String createdBy, String comment, boolean emptyLayer) {}
}
