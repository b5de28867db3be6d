package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.NetworkSpec.Port;
import dev.zlayer.container.NetworkSpec.Protocol;
import dev.zlayer.task.Deadline;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Prints what an attach costs. Not part of the suite: run it with {@code
 * -Dit.test=AttachSpeedBench}.
 */
class AttachSpeedBench {
  private static final int ROUNDS = 30;
  private static final NetworkSpec PORT =
      NetworkSpec.DEFAULT.withPorts(
          new Port(OptionalInt.empty(), 80, Protocol.TCP, Optional.empty()));

  @TempDir Path directory;

  @Test
  void aPreparedNamespaceSavesMostOfAnAttach() throws Exception {
    NetworkConfig config = NetworkLeaks.config(directory);
    var leaks = new NetworkLeaks(config);
    try {
      Duration cold;
      Duration pooled;
      try (Networks networks = Networks.open(config.withPoolSize(0))) {
        cold = measure("no pool", networks, NetworkSpec.DEFAULT, 0);
        measure("no pool, one port", networks, PORT, 0);
        measure("loopback only", networks, NetworkSpec.NONE, 0);
      }
      try (Networks networks = Networks.open(config.withPoolSize(4))) {
        pooled = measure("pool", networks, NetworkSpec.DEFAULT, 4);
        measure("pool, one port", networks, PORT, 4);
      }
      assertThat(pooled).isLessThan(cold.dividedBy(2));
      leaks.assertNone();
    } finally {
      leaks.destroy();
    }
  }

  private static Duration measure(String what, Networks networks, NetworkSpec spec, int pool)
      throws Exception {
    List<Duration> attach = new ArrayList<>();
    List<Duration> detach = new ArrayList<>();
    for (int round = 0; round < ROUNDS; round++) {
      Awaitility.await().until(() -> networks.prepared() == pool);
      networks.settle(Deadline.after(Duration.ofSeconds(10)));
      Deadline clock = Deadline.after(Duration.ofHours(1));
      networks.attach("one", spec);
      Deadline afterAttach = Deadline.after(Duration.ofHours(1));
      attach.add(clock.limit().minus(clock.left()));
      networks.detach("one");
      detach.add(afterAttach.limit().minus(afterAttach.left()));
    }
    System.out.printf(
        "%-20s attach median %6.2f ms, worst %6.2f ms; detach median %6.2f ms%n",
        what, millis(median(attach)), millis(Collections.max(attach)), millis(median(detach)));
    return median(attach);
  }

  private static Duration median(List<Duration> all) {
    return all.stream().sorted().toList().get(all.size() / 2);
  }

  private static double millis(Duration duration) {
    return duration.toNanos() / 1e6;
  }
}
