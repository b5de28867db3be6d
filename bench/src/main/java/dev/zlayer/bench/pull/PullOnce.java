package dev.zlayer.bench.pull;

import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.engine.ZlayerNode;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.PullRequest;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Pulls an image into an empty store in a process of its own, for limits on its memory and for
 * profiles. Prints the milliseconds and the most memory it ever held.
 */
public final class PullOnce {
  private PullOnce() {}

  /** Arguments: the reference, an empty directory, and how often (each time anew). */
  public static void main(String[] arguments) throws Exception {
    ImageRef image = ImageRef.parse(arguments[0]);
    for (int time = 0; time < Integer.parseInt(arguments[2]); time++) {
      Path directory = Path.of(arguments[1]).resolve("pull-" + time);
      double millis = Rounds.millis(() -> pull(image, directory));
      System.out.printf("%.0f ms, peak %d MiB%n", millis, peakMebibytes());
    }
  }

  static void pull(ImageRef image, Path directory) throws InterruptedException {
    try (var store = ZlayerNode.store(DataDir.under(directory))) {
      store.images().pull(PullRequest.of(image, PullPolicy.ALWAYS), event -> {});
    }
  }

  private static long peakMebibytes() throws java.io.IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmHWM:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) / 1024)
        .findFirst()
        .orElse(0);
  }
}
