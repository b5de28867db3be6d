package dev.zlayer.image.layer;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** What is kept beside a layer's tree. */
record LayerFacts(LayerUsage usage) {
  static final StoredFormat FORMAT = StoredFormat.of("the record of a layer");
  private static final long MAX_PATH_BYTES = 8L << 20; // they are read at once later

  void write(Path file) throws IOException {
    Json json = FORMAT.begin().put("bytes", usage.bytes()).put("inodes", usage.inodes()).build();
    Files.write(file, JsonText.bytes(json));
  }

  static LayerFacts read(Path file) throws IOException {
    Json json;
    try {
      Json stored = JsonText.parse(Files.readAllBytes(file));
      json = FORMAT.later(stored) ? stored : FORMAT.upgrade(stored, file);
    } catch (AgentException.InvalidSpec _) {
      json = Json.object().build(); // they are only counted: a damaged layer is found by 'fsck'
    }
    return new LayerFacts(
        new LayerUsage(
            json.at("bytes").integer().orElse(0L), json.at("inodes").integer().orElse(0L)));
  }

  static Set<String> readPaths(Path file) throws IOException {
    String text;
    try {
      text = Files.readString(file, StandardCharsets.ISO_8859_1);
    } catch (NoSuchFileException _) {
      return Set.of();
    }
    var paths = new TreeSet<String>();
    for (int at = 0; at < text.length(); ) {
      int end = text.indexOf('\0', at);
      paths.add(text.substring(at, end));
      at = end + 1;
    }
    return paths;
  }

  /** Paths one after the other, each ended by a zero byte; no file as long as there is none. */
  static final class PathWriter implements AutoCloseable {
    private final Path file;
    private @Nullable OutputStream out;
    private long bytes;

    PathWriter(Path file) {
      this.file = file;
    }

    void add(String path) throws IOException {
      bytes += path.length() + 1;
      if (bytes > MAX_PATH_BYTES) {
        throw new LayerException(path, "too many directories without an entry of their own", null);
      }
      OutputStream target = out;
      if (target == null) {
        target = new BufferedOutputStream(Files.newOutputStream(file));
        out = target;
      }
      target.write((path + "\0").getBytes(StandardCharsets.ISO_8859_1));
    }

    @Override
    public void close() throws IOException {
      OutputStream target = out;
      if (target != null) {
        target.close();
      }
    }
  }
}
