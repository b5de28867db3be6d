package dev.zlayer.image;

import dev.zlayer.image.manifest.ImageConfig;
import dev.zlayer.image.manifest.Manifest;
import dev.zlayer.image.store.ImageRecord;
import dev.zlayer.image.store.IndexState;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import java.io.IOException;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What the index knows, in the words of the port. */
final class ImageViews {
  /** A container is made of one of a few images; each is asked for several times then. */
  private static final int MOST_KEPT = 64;

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
          Optional.empty(),
          Json.Null.INSTANCE);

  private final ImageLayout layout;

  /** By digest, so that what is kept is never out of date; those used last come last. */
  private final Map<Digest, Content> contents = new LinkedHashMap<>();

  ImageViews(ImageLayout layout) {
    this.layout = layout;
  }

  /** What manifest and configuration say. */
  private record Content(
      Map<String, String> annotations,
      String author,
      ImageDetails.RunConfig run,
      List<ImageDetails.HistoryEntry> history) {}

  /** By name; those without one come last. */
  List<ImageInfo> all() {
    IndexState state = layout.index().state();
    return state.images().values().stream()
        .map(image -> info(state, image))
        .sorted(
            Comparator.comparing((ImageInfo info) -> info.references().isEmpty())
                .thenComparing(info -> info.references().toString())
                .thenComparing(ImageInfo::digest))
        .toList();
  }

  ImageInfo info(ImageRecord image) {
    return info(layout.index().state(), image);
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
    Content content = content(image.manifest());
    return new ImageDetails(
        info(image),
        image.config(),
        image.layers(),
        content.annotations(),
        content.author(),
        content.run(),
        content.history());
  }

  private Content content(Digest manifest) throws IOException {
    synchronized (contents) {
      Content kept = contents.remove(manifest);
      if (kept != null) {
        contents.put(manifest, kept);
        return kept;
      }
    }
    Content read = read(manifest);
    synchronized (contents) {
      contents.put(manifest, read);
      while (contents.size() > MOST_KEPT) {
        contents.remove(contents.keySet().iterator().next());
      }
    }
    return read;
  }

  private Content read(Digest digest) throws IOException {
    Manifest.Image manifest = layout.manifest(digest);
    Optional<ImageConfig> config = layout.config(manifest);
    return new Content(
        manifest.annotations(),
        config.map(ImageConfig::author).orElse(""),
        config.map(ImageConfig::run).orElse(NOTHING),
        config.map(ImageConfig::history).orElse(List.of()));
  }
}
