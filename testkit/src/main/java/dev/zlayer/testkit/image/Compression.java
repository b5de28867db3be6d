package dev.zlayer.testkit.image;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.GZIPOutputStream;

/** How a layer is packed. */
public enum Compression {
  NONE(""),
  GZIP("gzip"),
  /** Through the program {@code zstd}, since the JDK has none. */
  ZSTD("zstd");

  private final String suffix;

  Compression(String suffix) {
    this.suffix = suffix;
  }

  byte[] pack(byte[] tar) {
    return switch (this) {
      case NONE -> tar;
      case GZIP -> gzip(tar);
      case ZSTD -> zstd(tar);
    };
  }

  String ociMediaType() {
    String tar = "application/vnd.oci.image.layer.v1.tar";
    return suffix.isEmpty() ? tar : tar + "+" + suffix;
  }

  /** Docker named the packed and the plain form differently, and never named zstd. */
  String dockerMediaType() {
    return "application/vnd.docker.image.rootfs.diff.tar" + (suffix.isEmpty() ? "" : "." + suffix);
  }

  private static byte[] gzip(byte[] bytes) {
    var packed = new ByteArrayOutputStream();
    try (var gzip = new GZIPOutputStream(packed)) {
      gzip.write(bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return packed.toByteArray();
  }

  private static byte[] zstd(byte[] bytes) {
    var command =
        new Command(
            List.of("zstd", "-q", "-c"),
            Map.of(),
            Optional.empty(),
            bytes,
            Integer.MAX_VALUE,
            false,
            Optional.empty());
    try {
      return Processes.check(command, Deadline.after(Duration.ofMinutes(1))).stdoutBytes();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while packing a layer", e);
    }
  }
}
