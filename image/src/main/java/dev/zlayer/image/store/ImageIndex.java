package dev.zlayer.image.store;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * The durable truth about which images are here and what points to them. One file, replaced as a
 * whole: after a crash it is as before or as after a change. Readers take {@link #state} and never
 * wait.
 */
public final class ImageIndex {
  private static final System.Logger LOG = LazyLogger.of(ImageIndex.class);

  private final Path file;
  private final Map<Digest, Instant> used = new HashMap<>();
  private volatile IndexState state;

  private ImageIndex(Path file, IndexState state) {
    this.file = file;
    this.state = state;
  }

  public static ImageIndex open(Path file) throws IOException {
    if (!Files.exists(file)) {
      return new ImageIndex(file, IndexState.EMPTY);
    }
    try {
      return new ImageIndex(file, IndexJson.read(JsonText.parse(Files.readAllBytes(file)), file));
    } catch (AgentException.InvalidSpec | DateTimeException | IllegalArgumentException e) {
      return aside(file, e);
    }
  }

  /** Containers have their layers without it, and images can be pulled again. */
  private static ImageIndex aside(Path file, Exception damage) throws IOException {
    Path aside = file.resolveSibling(file.getFileName() + ".damaged");
    Files.move(file, aside, StandardCopyOption.REPLACE_EXISTING);
    LOG.log(
        System.Logger.Level.ERROR,
        "the image index was damaged and is now %s, no image has a name any more; run 'zlayer image fsck --repair' and pull the images again: %s"
            .formatted(aside, damage.getMessage()));
    return new ImageIndex(file, IndexState.EMPTY);
  }

  public IndexState state() {
    return state;
  }

  /** Makes a change durable before anybody sees it. */
  public synchronized IndexState update(UnaryOperator<IndexState> change) {
    IndexState next = change.apply(state).mapImages(this::withUse);
    if (!next.equals(state)) {
      try {
        AtomicFile.write(file, IndexJson.write(next));
      } catch (IOException e) {
        IOException told = DiskSpace.explain(e, file);
        throw new AgentException.Configuration(
            "the image index %s cannot be written: %s".formatted(file, told.getMessage()), told);
      }
      state = next;
      used.clear();
    }
    return next;
  }

  /** Notes a use; it reaches the disk with the next change, or {@link #flush}. */
  public synchronized void used(Digest image, Instant time) {
    used.put(image, time);
  }

  public void flush() {
    update(UnaryOperator.identity());
  }

  private ImageRecord withUse(ImageRecord image) {
    Instant time = used.get(image.manifest());
    return time == null || time.isBefore(image.lastUsed()) ? image : image.usedAt(time);
  }
}
