package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Names the time since the kernel started; another one means that caches were lost between. */
public final class BootId {
  private static final Path FILE = Path.of("/proc/sys/kernel/random/boot_id");

  private BootId() {}

  public static String read() throws IOException {
    return Files.readString(FILE).strip();
  }
}
