package dev.zlayer.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Ports for programs that a test starts later. They lie outside the range from which the kernel
 * gives a port to whoever names none, and no other process with tests gets them while this one
 * runs, so that nobody takes them between choice and use.
 */
public final class FreePorts {
  private static final int LOWEST = 10_000;
  private static final int HIGHEST = 65_535;
  private static final int ATTEMPTS = 1_000;

  /** One byte for each port, locked by whoever has taken it; the kernel unlocks them at the end. */
  private static final Path LOCKS =
      Path.of(
          System.getProperty("java.io.tmpdir"),
          "zlayer-test-ports-" + System.getProperty("user.name"));

  /** Kept, since a lock that nobody refers to is forgotten within this process. */
  private static final List<FileLock> TAKEN = new ArrayList<>();

  private FreePorts() {}

  /** One that nobody uses on any address, neither by TCP nor by UDP; another one each time. */
  public static synchronized int take() {
    try {
      int[] chosenByKernel = chosenByKernel();
      for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        int port = RandomGenerator.getDefault().nextInt(LOWEST, HIGHEST + 1);
        boolean own = port < chosenByKernel[0] || port > chosenByKernel[1];
        if (own && locked(port) && free(port)) {
          return port;
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    throw new IllegalStateException("no port is free outside the range of the kernel");
  }

  /** The first and the last; the kernel gives them only to who reads the whole line at once. */
  static int[] chosenByKernel() throws IOException {
    String line = Files.readAllLines(Path.of("/proc/sys/net/ipv4/ip_local_port_range")).getFirst();
    return Arrays.stream(line.split("\\s+", -1)).mapToInt(Integer::parseInt).toArray();
  }

  private static boolean locked(int port) throws IOException {
    FileChannel locks =
        TAKEN.isEmpty()
            ? FileChannel.open(LOCKS, StandardOpenOption.CREATE, StandardOpenOption.WRITE)
            : (FileChannel) TAKEN.getFirst().acquiredBy();
    try {
      FileLock lock = locks.tryLock(port, 1, false);
      if (lock != null) {
        TAKEN.add(lock);
      }
      return lock != null;
    } catch (OverlappingFileLockException _) {
      return false; // this process has it already
    }
  }

  private static boolean free(int port) {
    try (var _ = new ServerSocket(port);
        var _ = new DatagramSocket(port)) {
      return true;
    } catch (IOException _) {
      return false;
    }
  }
}
