package dev.zlayer.runtime.wasm.wasi;

import java.nio.file.AccessDeniedException;

/**
 * Why the last file operation was refused. The WASI layer tells a module "input/output error" for
 * every exception; what we refused has a better number. Used by the module's thread alone.
 */
final class Refusal {
  static final int NONE = 0;
  static final int ACCESS = 2;
  static final int NOT_PERMITTED = 63;
  static final int READ_ONLY = 69;
  static final int OTHER_DEVICE = 75;

  private int number = NONE;

  AccessDeniedException of(int number, String path, String reason) {
    this.number = number;
    return new AccessDeniedException(path, null, reason);
  }

  boolean pending() {
    return number != NONE;
  }

  /** The number of the refusal since the last call, if there was one. */
  int take() {
    int taken = number;
    number = NONE;
    return taken;
  }
}
