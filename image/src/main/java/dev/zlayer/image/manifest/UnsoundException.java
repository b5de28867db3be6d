package dev.zlayer.image.manifest;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Content that is not what it claims to be, or that no limit allows; never worth retrying. */
public final class UnsoundException extends IOException {
  public UnsoundException(String reason) {
    this(reason, null);
  }

  public UnsoundException(String reason, @Nullable Throwable cause) {
    super(reason, cause);
  }
}
