package dev.zlayer.image.archive;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.manifest.Manifest;
import dev.zlayer.image.manifest.ManifestReader;
import dev.zlayer.image.manifest.PlatformChoice;
import dev.zlayer.image.store.DiskContentStore;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The images of an archive that has an {@code index.json}. */
record OciLayout(DiskContentStore content, LoadArchive archive) {
  private static final int MAX_DEPTH = 4;
  private static final String ATTACHMENT = "vnd.docker.reference.type";

  List<LoadArchive.Loaded> images(Platform wanted) throws IOException {
    byte[] bytes = archive.document(SaveArchive.INDEX_FILE).orElseThrow();
    if (!(ManifestReader.read(bytes, "") instanceof Manifest.Index index)) {
      throw new InvalidImageException(SaveArchive.INDEX_FILE + " is not an index");
    }
    List<Descriptor> entries =
        index.manifests().stream()
            .filter(entry -> !entry.annotations().containsKey(ATTACHMENT))
            .toList();
    boolean named = entries.stream().anyMatch(entry -> !names(entry).isEmpty());
    if (!named && entries.size() > 1) {
      Descriptor one = choose(new Manifest.Index(entries), wanted);
      return List.of(new LoadArchive.Loaded(image(one, wanted, 0), List.of()));
    }
    var result = new ArrayList<LoadArchive.Loaded>();
    for (Descriptor entry : entries) {
      Descriptor image = image(entry, wanted, 0);
      List<ImageRef> names = names(entry);
      result.add(new LoadArchive.Loaded(image, names.isEmpty() ? dockerNames(image) : names));
    }
    return result;
  }

  private Descriptor image(Descriptor entry, Platform wanted, int depth) throws IOException {
    if (depth == MAX_DEPTH) {
      throw new InvalidImageException(
          "the index refers to more than %d other indexes".formatted(MAX_DEPTH));
    }
    byte[] bytes = content.bytes(entry.digest(), ManifestReader.MAX_BYTES);
    return switch (ManifestReader.read(bytes, entry.mediaType())) {
      case Manifest.Image _ -> entry;
      case Manifest.Index index -> image(choose(index, wanted), wanted, depth + 1);
    };
  }

  /** Among what the archive really has: a saved index often comes with one of its platforms. */
  private Descriptor choose(Manifest.Index index, Platform wanted) throws InvalidImageException {
    List<Descriptor> here =
        index.manifests().stream().filter(entry -> content.has(entry.digest())).toList();
    return PlatformChoice.choose(new Manifest.Index(here), wanted)
        .or(() -> here.stream().filter(entry -> entry.platform().isPresent()).findFirst())
        .orElseThrow(() -> new InvalidImageException("the archive has no image for " + wanted));
  }

  private static List<ImageRef> names(Descriptor entry) {
    Map<String, String> annotations = entry.annotations();
    return Optional.ofNullable(annotations.get(SaveArchive.NAME_ANNOTATION))
        .or(() -> Optional.ofNullable(annotations.get(SaveArchive.REF_ANNOTATION)))
        .flatMap(OciLayout::reference)
        .map(List::of)
        .orElse(List.of());
  }

  /** A name that is no reference leaves the image without one; it can be tagged. */
  static Optional<ImageRef> reference(String text) {
    try {
      return Optional.of(ImageRef.parse(text));
    } catch (AgentException.InvalidSpec _) {
      return Optional.empty();
    }
  }

  /** Docker's own list may know names that the index does not. */
  private List<ImageRef> dockerNames(Descriptor image) throws IOException {
    if (archive.document(SaveArchive.DOCKER_FILE).isEmpty()) {
      return List.of();
    }
    byte[] bytes = content.bytes(image.digest(), ManifestReader.MAX_BYTES);
    return ManifestReader.read(bytes, image.mediaType()) instanceof Manifest.Image manifest
        ? DockerArchive.names(archive, manifest.config().digest())
        : List.of();
  }
}
