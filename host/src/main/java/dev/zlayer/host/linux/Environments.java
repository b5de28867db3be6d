package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/** Finds processes by a variable in the environment they were started with. */
public final class Environments {
  /** Processes that this agent starts have less; those of containers have what they like. */
  private static final int LARGEST = 64 << 10;

  private Environments() {}

  /** Processes in whose environment the variable has one of the values. */
  public static List<ProcessHandle> having(String variable, Set<String> values) {
    return ProcessHandle.allProcesses()
        .filter(process -> matches(process.pid(), variable + "=", values))
        .toList();
  }

  private static boolean matches(long pid, String start, Set<String> values) {
    try {
      byte[] environment = read(Path.of("/proc", Long.toString(pid), "environ"));
      return Arrays.stream(new String(environment, StandardCharsets.UTF_8).split("\0", -1))
          .anyMatch(
              entry -> entry.startsWith(start) && values.contains(entry.substring(start.length())));
    } catch (IOException _) {
      return false; // it ended, or is not ours to look into
    }
  }

  private static byte[] read(Path file) throws IOException {
    try (var in = Files.newInputStream(file)) {
      return in.readNBytes(LARGEST);
    }
  }
}
