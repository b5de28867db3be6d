package dev.zlayer.image.layer;

/**
 * How much one layer may ask for. The defaults are far beyond honest layers and far below what
 * would take a machine down.
 *
 * @param bytes of the uncompressed archive, and of the files in it
 * @param expansion how many bytes one byte of gzip may become, once the first 64 MiB are out; the
 *     format itself allows 1032
 */
public record LayerLimits(
    long entries, int pathBytes, int nameBytes, int attributes, long bytes, int expansion) {
  public static final LayerLimits DEFAULT =
      new LayerLimits(5_000_000, 4095, 255, 256, 256L << 30, 1100);
}
