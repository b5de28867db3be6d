package dev.zlayer.image.archive;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.ImageConfig;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.store.DiskContentStore;
import dev.zlayer.image.store.DiskContentStore.Stored;
import dev.zlayer.image.store.Leases;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The images of an archive that has only Docker's {@code manifest.json}. */
record DockerArchive(DiskContentStore content, Leases.Lease lease, LoadArchive archive) {
  private static final int MAX_IMAGES = 1000;

  List<LoadArchive.Loaded> images() throws IOException {
    var result = new ArrayList<LoadArchive.Loaded>();
    for (Json entry : entries(archive)) {
      result.add(new LoadArchive.Loaded(manifest(entry), names(entry)));
    }
    return result;
  }

  /** These archives have no manifests, so we write one about the files that are there. */
  private Descriptor manifest(Json entry) throws IOException {
    Stored config = archive.file(entry.at("Config").string().orElse(""));
    content.bytes(config.digest(), ImageConfig.MAX_BYTES); // refuses what is too large for one
    var layers = new ArrayList<Descriptor>();
    for (String name : entry.at("Layers").strings()) {
      Stored layer = archive.file(name);
      layers.add(NewImage.layer(content, layer.digest(), layer.size()));
    }
    return NewImage.manifest(content, lease, config, layers);
  }

  private static List<ImageRef> names(Json entry) {
    return entry.at("RepoTags").strings().stream()
        .flatMap(text -> OciLayout.reference(text).stream())
        .toList();
  }

  /** The names that Docker's list gives to the image of a configuration. */
  static List<ImageRef> names(LoadArchive archive, Digest config) throws InvalidImageException {
    var result = new ArrayList<ImageRef>();
    for (Json entry : entries(archive)) {
      if (archive.file(entry.at("Config").string().orElse("")).digest().equals(config)) {
        result.addAll(names(entry));
      }
    }
    return result;
  }

  private static List<Json> entries(LoadArchive archive) throws InvalidImageException {
    byte[] bytes = archive.document(SaveArchive.DOCKER_FILE).orElseThrow();
    List<Json> entries;
    try {
      entries = JsonText.parse(bytes).items();
    } catch (AgentException.InvalidSpec e) {
      throw new InvalidImageException(SaveArchive.DOCKER_FILE + " is " + e.getMessage(), e);
    }
    if (entries.size() > MAX_IMAGES) {
      throw new InvalidImageException("the archive has over %d images".formatted(MAX_IMAGES));
    }
    return entries;
  }
}
