package dev.zlayer.image;

import dev.zlayer.image.manifest.ImageConfig;
import dev.zlayer.image.manifest.Manifest;
import dev.zlayer.image.store.ImageRecord;
import dev.zlayer.image.store.IndexState;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What the index knows, in the words of the port. */
record ImageViews(Shelf shelf) {
  private static final ImageDetails.RunConfig NOTHING =
      new ImageDetails.RunConfig(
          List.of(),
          List.of(),
          List.of(),
          Optional.empty(),
          Optional.empty(),
          List.of(),
          List.of(),
          Map.of(),
          Optional.empty());

  /** By name; those without one come last. */
  List<ImageInfo> all() {
    IndexState state = shelf.index().state();
    return state.images().values().stream()
        .map(image -> info(state, image))
        .sorted(
            Comparator.comparing((ImageInfo info) -> info.references().isEmpty())
                .thenComparing(info -> info.references().toString())
                .thenComparing(ImageInfo::digest))
        .toList();
  }

  ImageInfo info(ImageRecord image) {
    return info(shelf.index().state(), image);
  }

  private static ImageInfo info(IndexState state, ImageRecord image) {
    return new ImageInfo(
        image.manifest(),
        state.referencesOf(image.manifest()).stream()
            .sorted(Comparator.comparing(ImageRef::canonical))
            .toList(),
        image.platform(),
        image.kind(),
        image.contentBytes(),
        image.createdAt());
  }

  ImageDetails details(ImageRecord image) throws IOException {
    Manifest.Image manifest = shelf.manifest(image.manifest());
    Optional<ImageConfig> config = shelf.config(manifest);
    return new ImageDetails(
        info(image),
        image.config(),
        image.layers(),
        manifest.annotations(),
        config.map(ImageConfig::run).orElse(NOTHING),
        config.map(ImageConfig::history).orElse(List.of()));
  }
}
