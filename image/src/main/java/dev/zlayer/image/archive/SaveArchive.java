package dev.zlayer.image.archive;

import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.MediaTypes;
import dev.zlayer.image.store.DiskContentStore;
import dev.zlayer.image.store.ImageRecord;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Capabilities.ArtifactKind;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Writes one archive that is both an OCI layout and what {@code docker load} reads: the same blobs,
 * described twice. Manifests are written as they were pulled, so digests survive the journey.
 */
public final class SaveArchive {
  static final String LAYOUT_FILE = "oci-layout";
  static final String INDEX_FILE = "index.json";
  static final String DOCKER_FILE = "manifest.json";
  static final String BLOBS = "blobs/";
  static final String NAME_ANNOTATION = "io.containerd.image.name";
  static final String REF_ANNOTATION = "org.opencontainers.image.ref.name";

  private final DiskContentStore content;

  public SaveArchive(DiskContentStore content) {
    this.content = content;
  }

  /** Images by the references that shall name them in the archive. */
  public void write(Map<ImageRef, ImageRecord> images, OutputStream to) throws IOException {
    try (var tar = new TarOutput(to)) {
      tar.file(
          LAYOUT_FILE, JsonText.bytes(Json.object().put("imageLayoutVersion", "1.0.0").build()));
      tar.file(INDEX_FILE, JsonText.bytes(index(images)));
      tar.file(DOCKER_FILE, JsonText.bytes(docker(images)));
      Set<Digest> blobs = new LinkedHashSet<>();
      images.values().forEach(image -> blobs.addAll(image.blobs()));
      for (Digest blob : blobs) {
        try (InputStream in = content.read(blob)) {
          tar.file(path(blob), content.size(blob), in);
        }
      }
    }
  }

  private Json index(Map<ImageRef, ImageRecord> images) throws IOException {
    var manifests = new ArrayList<Json>();
    for (Map.Entry<ImageRef, ImageRecord> entry : images.entrySet()) {
      ImageRecord image = entry.getValue();
      String name = entry.getKey().canonical();
      manifests.add(
          new Descriptor(
                  image.mediaType(),
                  image.manifest(),
                  content.size(image.manifest()),
                  image.platform(),
                  Map.of(NAME_ANNOTATION, name, REF_ANNOTATION, name))
              .json());
    }
    return Json.object()
        .put("schemaVersion", 2)
        .put("mediaType", MediaTypes.OCI_INDEX)
        .put("manifests", manifests)
        .build();
  }

  /** One entry per image with all its tags; modules mean nothing to Docker's loader. */
  private static Json docker(Map<ImageRef, ImageRecord> images) {
    Map<ImageRecord, List<String>> tags = new LinkedHashMap<>();
    images.forEach(
        (reference, image) -> {
          if (image.kind() == ArtifactKind.ROOT_FILE_SYSTEM) {
            List<String> names = tags.computeIfAbsent(image, _ -> new ArrayList<>());
            if (reference.digest().isEmpty()) {
              names.add(reference.familiar());
            }
          }
        });
    var entries = new ArrayList<Json>();
    tags.forEach(
        (image, names) ->
            entries.add(
                Json.object()
                    .put("Config", path(image.config()))
                    .put("RepoTags", names)
                    .put(
                        "Layers",
                        image.layers().stream().map(layer -> path(layer.digest())).toList())
                    .build()));
    return Json.of(entries);
  }

  private static String path(Digest blob) {
    return BLOBS + blob.algorithm() + "/" + blob.hex();
  }
}
