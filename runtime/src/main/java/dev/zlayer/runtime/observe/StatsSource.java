package dev.zlayer.runtime.observe;

import dev.zlayer.container.Stats;
import dev.zlayer.host.linux.CgroupUsage;
import dev.zlayer.host.linux.NetworkUsage;
import dev.zlayer.host.linux.ProcessGroup;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.time.Instant;

/** Where readings about one container come from. */
@FunctionalInterface
public interface StatsSource {
  /**
   * Reads now.
   *
   * @throws NoSuchFileException the container does not run any more
   */
  Stats read(Instant time) throws IOException;

  /** A group of processes and, when {@code pid} is its first process, a network. */
  static StatsSource of(ProcessGroup group, long pid) {
    return time -> {
      CgroupUsage usage = group.usage();
      NetworkUsage network = network(pid);
      return new Stats(
          time,
          usage.cpuNanos(),
          usage.memoryBytes(),
          usage.memoryLimit(),
          usage.pids(),
          usage.pidsLimit(),
          usage.blockReadBytes(),
          usage.blockWriteBytes(),
          network.receivedBytes(),
          network.sentBytes());
    };
  }

  /** The network is gone before the group is; what it had counted is gone with it. */
  private static NetworkUsage network(long pid) {
    try {
      return NetworkUsage.of(pid);
    } catch (IOException _) {
      return new NetworkUsage(0, 0);
    }
  }
}
