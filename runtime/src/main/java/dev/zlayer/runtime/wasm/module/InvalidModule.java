package dev.zlayer.runtime.wasm.module;

import java.io.IOException;

/** Bytes that are not a module that can be run; says what they are instead. */
public final class InvalidModule extends IOException {
  InvalidModule(String reason) {
    super(reason);
  }

  InvalidModule(String reason, Throwable cause) {
    super(reason, cause);
  }
}
