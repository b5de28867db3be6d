package dev.zlayer.image.manifest;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Content that is not what it claims to be, or that no limit allows; never worth retrying. */
public final class InvalidImageException extends IOException {
  public InvalidImageException(String reason) {
    this(reason, null);
  }

  public InvalidImageException(String reason, @Nullable Throwable cause) {
    super(reason, cause);
  }
}
