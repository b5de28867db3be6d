package dev.zlayer.image.store;

import dev.zlayer.oci.Digest;
import java.nio.file.Path;
import java.util.List;

/** One way in which a store differs from the sum of what is referred to. */
public sealed interface StoreFinding {
  /** Whether an image is damaged by it; otherwise it only takes space. */
  default boolean damage() {
    return switch (this) {
      case MissingBlob _, CorruptBlob _, MissingLayer _, LostImage _ -> true;
      case Unreferenced _, UnreferencedLayer _, Interrupted _, Stranger _ -> false;
    };
  }

  /** For people. */
  default String text() {
    return switch (this) {
      case MissingBlob(var blob, var images) -> "blob %s of %s is missing".formatted(blob, images);
      case CorruptBlob(var blob, var actual) ->
          "blob %s is corrupt: it has the digest %s".formatted(blob, actual);
      case MissingLayer(var layer, var images) ->
          "layer %s of %s is not unpacked".formatted(layer, images);
      case LostImage(var reference, var image) ->
          "reference %s points to image %s, which is not there".formatted(reference, image);
      case Unreferenced(var blob, var bytes) ->
          "blob %s (%s) belongs to no image".formatted(blob, DiskSpace.print(bytes));
      case UnreferencedLayer(var layer) -> "layer %s belongs to no image".formatted(layer);
      case Interrupted(var blob) -> "the download of blob %s was interrupted".formatted(blob);
      case Stranger(var path) -> "%s is not a blob".formatted(path);
    };
  }

  record MissingBlob(Digest blob, List<String> images) implements StoreFinding {}

  record CorruptBlob(Digest blob, Digest actual) implements StoreFinding {}

  record MissingLayer(Digest layer, List<String> images) implements StoreFinding {}

  record LostImage(String reference, Digest image) implements StoreFinding {}

  record Unreferenced(Digest blob, long bytes) implements StoreFinding {}

  record UnreferencedLayer(Digest layer) implements StoreFinding {}

  record Interrupted(Digest blob) implements StoreFinding {}

  record Stranger(Path path) implements StoreFinding {}
}
