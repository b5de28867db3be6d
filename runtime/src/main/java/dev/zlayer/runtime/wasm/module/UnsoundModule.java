package dev.zlayer.runtime.wasm.module;

import java.io.IOException;

/** Bytes that are not a module that can be run; says what they are instead. */
public final class UnsoundModule extends IOException {
  UnsoundModule(String reason) {
    super(reason);
  }

  UnsoundModule(String reason, Throwable cause) {
    super(reason, cause);
  }
}
