package dev.zlayer.runtime.observe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.LogSpec;
import dev.zlayer.container.ProcessTable;
import dev.zlayer.container.Stats;
import dev.zlayer.host.linux.CgroupUsage;
import dev.zlayer.host.linux.Cgroups;
import dev.zlayer.host.linux.ControlGroup;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Requires({Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.BUSYBOX})
@Timeout(120)
class ObserveIT {
  @TempDir Path directory;
  private Box box;
  private Cgroups groups;

  @BeforeEach
  void prepare() throws Exception {
    box = new Box(directory, Box.makeRoot(directory.resolve("root")), LogSpec.DEFAULT);
    groups = Cgroups.detect();
  }

  @AfterEach
  void close() throws Exception {
    box.close();
  }

  @Test
  void tellsWhatARunningContainerUses() throws Exception {
    // 8 MiB of shared memory are not cache that can be taken back, 20 MiB of a file are
    box.start(
        "dd if=/dev/zero of=/scratch/used bs=1M count=8 2>/dev/null;"
            + " dd if=/dev/zero of=/data/cache bs=1M count=20 2>/dev/null; cat /data/cache >/tmp/x;"
            + " echo ready; while true; do :; done");
    await().until(() -> log().contains("ready"));
    ControlGroup group = groups.of(box.pid());
    Stats first = StatsSource.of(group, box.pid()).read(Instant.EPOCH);
    assertThat(first.memoryBytes()).isBetween(8L << 20, 30L << 20);
    assertThat(first.memoryLimitBytes()).hasValue(64 << 20);
    assertThat(first.pids()).isEqualTo(1);
    assertThat(first.pidsLimit()).hasValue(50);
    assertThat(first.networkReceivedBytes()).isZero();

    ContainerId id = ContainerId.of("test", "box", 1);
    var sampler = new StatsSampler(InstantSource.system());
    sampler.add(id, StatsSource.of(groups.at(box.group()), box.pid()));
    try (var _ = SamplerLoop.start(sampler, InstantSource.system())) {
      await()
          .untilAsserted(
              () -> assertThat(sampler.sampleOf(id).cpuPercent().orElse(0)).isGreaterThan(10));
    }
  }

  @Test
  void countsWhatTheKernelKilledForMemory() throws Exception {
    box.start("sh -c 'dd if=/dev/zero of=/dev/null bs=100M count=1'; echo survived; sleep 1000");
    await().until(() -> log().contains("survived"));
    CgroupUsage usage = groups.at(box.group()).usage();
    assertThat(usage.outOfMemoryKills()).isPositive();
  }

  @Test
  void listsEveryProcessOfTheContainerAndNoOther() throws Exception {
    box.start("sleep 1001 & (sleep 1002 & sleep 1003) & echo ready; wait");
    await().until(() -> log().contains("ready"));
    await()
        .untilAsserted(
            () -> {
              ProcessTable table =
                  ContainerProcesses.list(groups.of(box.pid()), Instant.now(), Optional.empty());
              assertThat(table.rows().stream().map(List::getLast).sorted())
                  .containsSubsequence("sleep 1001", "sleep 1002", "sleep 1003");
              assertThat(table.rows()).hasSizeBetween(4, 5);
              assertThat(table.rows().getFirst().get(1)).isEqualTo(Long.toString(box.pid()));
            });
  }

  @Test
  void aContainerThatIsGoneIsNotMistakenForAnother() throws Exception {
    box.start("true");
    box.awaitEnd();
    box.close();
    assertThatThrownBy(() -> groups.at(box.group()).usage())
        .isInstanceOf(NoSuchFileException.class);
  }

  private String log() throws Exception {
    return java.nio.file.Files.readString(box.logs().current());
  }
}
