package dev.zlayer.image.store;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** Says what is missing when a disk is full, instead of the kernel's three words. */
public final class DiskSpace {
  private static final String[] UNITS = {"KiB", "MiB", "GiB", "TiB"};

  private DiskSpace() {}

  /** A disk is too full to write to. */
  public static final class Full extends IOException {
    Full(String reason, Throwable cause) {
      super(reason, cause);
    }

    Full(String reason) {
      super(reason);
    }
  }

  /** Throws {@link Full} when {@code bytes} more cannot fit below {@code directory}. */
  public static void require(Path directory, long bytes) throws IOException {
    long free = Files.getFileStore(directory).getUsableSpace();
    if (bytes > free) {
      throw new Full(
          "not enough space below %s: %s needed, %s free"
              .formatted(directory, print(bytes), print(free)));
    }
  }

  /** The same failure, but with path and space when it was for lack of it. */
  public static IOException explain(IOException failure, Path path) {
    // the JDK has the kernel's words only; our own calls have them in lower case
    String text = String.valueOf(failure.getMessage()).toLowerCase(Locale.ROOT);
    boolean lacking = text.contains("no space left") || text.contains("disk quota exceeded");
    if (failure instanceof Full || !lacking) {
      return failure;
    }
    return new Full("the disk is full: could not write %s%s".formatted(path, free(path)), failure);
  }

  private static String free(Path path) {
    try {
      Path parent = path.toAbsolutePath().getParent();
      long free = Files.getFileStore(parent == null ? path : parent).getUsableSpace();
      return ", " + print(free) + " free";
    } catch (IOException _) {
      return "";
    }
  }

  public static String print(long bytes) {
    if (bytes < 1024) {
      return bytes + " B";
    }
    double value = bytes;
    int unit = -1;
    while (value >= 1024 && unit < UNITS.length - 1) {
      value /= 1024;
      unit++;
    }
    return String.format(Locale.ROOT, "%.1f %s", value, UNITS[unit]);
  }
}
