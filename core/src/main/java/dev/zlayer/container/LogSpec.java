package dev.zlayer.container;

/** How much output is kept: one current file and {@code files - 1} rotated ones of this size. */
public record LogSpec(long maxFileBytes, int files) {
  public static final LogSpec DEFAULT = new LogSpec(10L << 20, 3);
}
