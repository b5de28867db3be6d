package dev.zlayer.image.layer;

import dev.zlayer.tar.TarException;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A layer could not be unpacked; nothing of it was kept. */
public final class LayerException extends IOException {
  private final @Nullable String entry;

  /** The layer as a whole is at fault. */
  LayerException(String reason, @Nullable Throwable cause) {
    super(reason, cause);
    this.entry = null;
  }

  /** One entry of it is at fault. */
  LayerException(String rawEntry, String reason, @Nullable Throwable cause) {
    super("layer entry '" + TarException.readable(rawEntry) + "': " + reason, cause);
    this.entry = TarException.readable(rawEntry);
  }

  /** The entry at fault as text for people. */
  public Optional<String> entry() {
    return Optional.ofNullable(entry);
  }
}
