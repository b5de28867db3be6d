package dev.zlayer.testkit.image;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The forms in which an image lies on a disk. */
final class Archives {
  private static final String INDEX = "application/vnd.oci.image.index.v1+json";

  private Archives() {}

  static Path layout(MadeImage image, Path directory, List<String> tags) {
    try {
      for (var file : files(image, tags).entrySet()) {
        Path path = directory.resolve(file.getKey());
        Files.createDirectories(path.resolveSibling("."));
        Files.write(path, file.getValue());
      }
      return directory;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static byte[] oci(MadeImage image, List<String> names) {
    return archive(files(image, names));
  }

  static byte[] docker(MadeImage image, List<String> repositoryTags) {
    Content config =
        image
            .config()
            .orElseThrow(() -> new IllegalArgumentException("an index has no docker archive"));
    var files = new LinkedHashMap<String, byte[]>();
    String configFile = config.digest().hex() + ".json";
    files.put(configFile, config.bytes());
    var layerFiles = new ArrayList<String>();
    for (var layer : image.layers()) {
      String file = layer.diffId().hex() + "/layer.tar";
      files.put(file, layer.tar());
      layerFiles.add(file);
    }
    Json entry =
        Json.object()
            .put("Config", configFile)
            .put("RepoTags", repositoryTags)
            .put("Layers", layerFiles)
            .build();
    files.put("manifest.json", JsonText.bytes(Json.of(List.of(entry))));
    return archive(files);
  }

  private static Map<String, byte[]> files(MadeImage image, List<String> names) {
    var files = new LinkedHashMap<String, byte[]>();
    files.put(
        "oci-layout", JsonText.bytes(Json.object().put("imageLayoutVersion", "1.0.0").build()));
    files.put("index.json", JsonText.bytes(index(image, names)));
    image.blobs().forEach(blob -> files.put(blobFile(blob), blob.bytes()));
    image.manifests().forEach(manifest -> files.put(blobFile(manifest), manifest.bytes()));
    return files;
  }

  private static Json index(MadeImage image, List<String> names) {
    var manifests = new ArrayList<Json>();
    for (String name : names) {
      var annotations = new LinkedHashMap<String, String>();
      annotations.put("org.opencontainers.image.ref.name", name);
      if (name.contains("/")) {
        annotations.put("io.containerd.image.name", name);
      }
      manifests.add(image.descriptor().put("annotations", annotations).build());
    }
    if (names.isEmpty()) {
      manifests.add(image.descriptor().build());
    }
    return Json.object()
        .put("schemaVersion", 2)
        .put("mediaType", INDEX)
        .put("manifests", manifests)
        .build();
  }

  private static String blobFile(Content content) {
    return "blobs/%s/%s".formatted(content.digest().algorithm(), content.digest().hex());
  }

  private static byte[] archive(Map<String, byte[]> files) {
    var entries = new ArrayList<TarEntry>();
    files.forEach((path, bytes) -> entries.add(TarEntry.file(path, bytes)));
    return TarWriter.archive(entries);
  }
}
