package dev.zlayer.daemon.rest.view;

import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * An image in a listing.
 *
 * @param references names that point to it; none when it is dangling
 * @param size its blobs as downloaded
 */
public record ImageView(
    Digest digest,
    List<String> references,
    Optional<Platform> platform,
    String kind,
    long size,
    Optional<Instant> created) {
  public static ImageView of(ImageInfo info) {
    return new ImageView(
        info.digest(),
        info.references().stream().map(ImageRef::familiar).toList(),
        info.platform(),
        info.kind().name().toLowerCase(Locale.ROOT),
        info.contentBytes(),
        info.createdAt());
  }

  /** An image with what its configuration says. */
  public record Details(
      Digest digest,
      List<String> references,
      Optional<Platform> platform,
      String kind,
      long size,
      Optional<Instant> created,
      Digest config,
      List<String> entrypoint,
      List<String> command,
      List<String> env,
      Optional<String> workdir,
      Optional<String> user,
      List<String> exposedPorts,
      List<String> volumes,
      Map<String, String> labels,
      Optional<String> stopSignal,
      Map<String, String> annotations,
      List<Layer> layers) {
    public static Details of(ImageDetails details) {
      ImageView image = ImageView.of(details.info());
      ImageDetails.RunConfig run = details.run();
      return new Details(
          image.digest(),
          image.references(),
          image.platform(),
          image.kind(),
          image.size(),
          image.created(),
          details.config(),
          run.entrypoint(),
          run.command(),
          run.env(),
          run.workdir(),
          run.user(),
          run.exposedPorts(),
          run.volumes(),
          run.labels(),
          run.stopSignal(),
          details.annotations(),
          details.layers().stream().map(Layer::of).toList());
    }
  }

  /** A layer as downloaded. */
  public record Layer(Digest digest, Optional<Digest> diffId, long size, String mediaType) {
    static Layer of(ImageDetails.Layer layer) {
      return new Layer(layer.digest(), layer.diffId(), layer.bytes(), layer.mediaType());
    }
  }

  /** How a layer came to be. */
  public record Step(
      Optional<Instant> created, String createdBy, String comment, boolean emptyLayer) {
    public static Step of(ImageDetails.HistoryEntry entry) {
      return new Step(entry.createdAt(), entry.createdBy(), entry.comment(), entry.emptyLayer());
    }
  }
}
