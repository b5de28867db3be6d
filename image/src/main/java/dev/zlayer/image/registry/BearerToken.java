package dev.zlayer.image.registry;

import java.time.Instant;

/** A header that opens one repository at one origin, until it expires; never printed. */
record BearerToken(String header, Instant expires) {
  @Override
  public String toString() {
    return "Grant[until " + expires + "]";
  }
}
