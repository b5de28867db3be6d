package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogSpec;
import dev.zlayer.container.Resources;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.CgroupMode;
import dev.zlayer.host.linux.CgroupSupport;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.port.Container;
import dev.zlayer.port.Updatable;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Limits, seen from inside; the paths are those of the cgroup version the host has. */
class ResourcesIT extends OnStage {
  @Test
  void aLogBombTakesNoMoreDiskThanAllowed() throws Exception {
    long file = 1 << 20;
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(),
            RuntimeFixture.script(
                    "yes 0123456789012345678901234567890123456789 | head -c 60000000; echo; echo"
                        + " the end")
                .withLogs(new LogSpec(file, 3)));
    container.start();
    Runs.end(container);
    long used = 0;
    Path logs = fixture.dirs.container(container.id().runtimeName()).logs();
    var seen = new HashSet<Object>();
    try (var files = Files.list(logs)) {
      for (Path path : files.toList()) {
        var attributes = Files.readAttributes(path, BasicFileAttributes.class);
        used += seen.add(attributes.fileKey()) ? attributes.size() : 0;
      }
    }
    assertThat(used).isPositive().isLessThan(4 * file);
    assertThat(RuntimeFixture.text(container)).endsWith("\nthe end");
    container.remove(false);
  }

  private static final boolean V2 = Machine.cgroupMode() == CgroupMode.V2;
  private static final Resources NONE = Resources.DEFAULT;

  @Test
  @Requires(Fact.CGROUP_LIMITS)
  void memorySwapAndReservationAreBounded() throws Exception {
    Assumptions.assumeFalse(V2);
    var resources =
        new Resources(
            OptionalDouble.empty(),
            OptionalLong.empty(),
            Optional.empty(),
            OptionalLong.of(64 << 20),
            OptionalLong.of(96 << 20),
            OptionalLong.of(32 << 20),
            OptionalInt.of(30),
            OptionalLong.of(77),
            OptionalInt.of(500),
            false,
            OptionalInt.empty(),
            Map.of("nofile", new Resources.Ulimit(100, 200)),
            Optional.empty());
    assertThat(
            inside(
                resources,
                "cd /sys/fs/cgroup; cat memory/memory.limit_in_bytes"
                    + " memory/memory.memsw.limit_in_bytes memory/memory.soft_limit_in_bytes"
                    + " memory/memory.swappiness pids/pids.max /proc/self/oom_score_adj;"
                    + " ulimit -Sn; ulimit -Hn"))
        .isEqualTo("%d\n%d\n%d\n30\n77\n500\n100\n200".formatted(64 << 20, 96 << 20, 32 << 20));
  }

  @Test
  @Requires(Fact.CGROUP_LIMITS)
  void cpuQuotaSharesAndSetAreBounded() throws Exception {
    Assumptions.assumeFalse(V2);
    var resources =
        new Resources(
            OptionalDouble.of(0.5),
            OptionalLong.of(512),
            Optional.of("0"),
            OptionalLong.empty(),
            OptionalLong.empty(),
            OptionalLong.empty(),
            OptionalInt.empty(),
            OptionalLong.of(-1),
            OptionalInt.empty(),
            false,
            OptionalInt.empty(),
            Map.of(),
            Optional.of("/zlayer-it/deep"));
    assertThat(
            inside(
                resources,
                "cd /sys/fs/cgroup; cat cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us cpu/cpu.shares"
                    + " cpuset/cpuset.cpus pids/pids.max; grep -c zlayer-it/deep /proc/self/cgroup;"
                    + " nproc"))
        .matches("50000\n100000\n512\n0\nmax\n\\d+\n1");
  }

  @Test
  @Requires(Fact.CGROUP_LIMITS)
  void processesAreBoundedByDefault() throws Exception {
    assertThat(
            inside(NONE, V2 ? "cat /sys/fs/cgroup/pids.max" : "cat /sys/fs/cgroup/pids/pids.max"))
        .isEqualTo("4096");
  }

  @Test
  @Requires(Fact.CGROUP_LIMITS)
  void whatTheHostCannotDoIsRefused() throws Exception {
    var weight =
        new Resources(
            OptionalDouble.empty(),
            OptionalLong.empty(),
            Optional.empty(),
            OptionalLong.empty(),
            OptionalLong.empty(),
            OptionalLong.empty(),
            OptionalInt.empty(),
            OptionalLong.empty(),
            OptionalInt.empty(),
            false,
            OptionalInt.of(500),
            Map.of(),
            Optional.empty());
    if (!CgroupSupport.read().blockIoWeight()) {
      assertThatThrownBy(() -> inside(weight, "true"))
          .isInstanceOf(AgentException.Unsupported.class)
          .hasMessageContaining("block I/O weight");
    }
    assertThatThrownBy(() -> inside(NONE.withMemory(1), "true"))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }

  @Test
  @Requires(Fact.CGROUP_LIMITS)
  void aStartThatFailsLeavesNoControlGroup() throws Exception {
    var missing =
        new Resources(
            OptionalDouble.empty(),
            OptionalLong.empty(),
            Optional.of("7654"),
            OptionalLong.empty(),
            OptionalLong.empty(),
            OptionalLong.empty(),
            OptionalInt.empty(),
            OptionalLong.empty(),
            OptionalInt.empty(),
            false,
            OptionalInt.empty(),
            Map.of(),
            Optional.empty());
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(), RuntimeFixture.script("true").withResources(missing));
    assertThatThrownBy(container::start).isInstanceOf(AgentException.StartFailed.class);
    container.remove(false);
    new Leaks(directory).assertNone();
  }

  @Test
  @Requires(Fact.CGROUP_LIMITS)
  void tooMuchMemoryEndsInAnOutOfMemoryOutcome() throws Exception {
    var spec =
        RuntimeFixture.script("x=a; while true; do x=$x$x$x; done")
            .withResources(NONE.withMemory(16 << 20));
    assertThat(fixture.run(spec).status()).isEqualTo(new ExitStatus.OutOfMemory());
    assertThat(Path.of("oom")).as("the monitor's note stays out of our directory").doesNotExist();
  }

  @Test
  @Requires(Fact.CGROUP_LIMITS)
  void aForkBombStaysInside() throws Exception {
    var spec =
        RuntimeFixture.script("b() { b | b & }; b; exec sleep 30").withResources(NONE.withPids(30));
    Container container = fixture.runtime.create(RuntimeFixture.id(), spec);
    container.start();
    assertThat(container.stats().pids()).isLessThanOrEqualTo(30);
    container.remove(true);
    assertThat(container.status()).isInstanceOf(ContainerStatus.Removed.class);
  }

  @Test
  @Requires(Fact.CGROUP_LIMITS)
  void limitsChangeWhileItRunsAndStayForTheNextRun() throws Exception {
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(),
            RuntimeFixture.script("sleep 300").withResources(NONE.withMemory(64 << 20)));
    container.start();
    ((Updatable) container).update(NONE.withMemory(32 << 20).withPids(55));
    String limits =
        V2
            ? "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids.max"
            : "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/pids/pids.max";
    assertThat(Runs.exec(container, "sh", "-c", limits)).isEqualTo((32 << 20) + "\n55");
    container.kill(dev.zlayer.container.Signal.KILL);
    Runs.end(container);
    container.start();
    assertThat(Runs.exec(container, "sh", "-c", limits)).isEqualTo((32 << 20) + "\n55");
    assertThat(container.spec().resources().memoryBytes()).hasValue(32 << 20);
    container.remove(true);
  }

  @Test
  @Requires(Fact.CGROUP_LIMITS)
  void usageIsTold() throws Exception {
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(),
            RuntimeFixture.script("sleep 300").withResources(NONE.withMemory(64 << 20)));
    container.start();
    var stats = container.stats();
    assertThat(stats.memoryLimitBytes()).hasValue(64 << 20);
    assertThat(stats.memoryBytes()).isBetween(1L, 64L << 20);
    assertThat(stats.pids()).isPositive();
    assertThat(stats.cpuNanos()).isPositive();
    container.remove(true);
  }

  @AfterAll
  void removeOwnCgroupParent() throws IOException {
    try (var controllers = Files.list(Path.of("/sys/fs/cgroup"))) {
      for (Path controller : controllers.filter(Files::isDirectory).toList()) {
        Files.deleteIfExists(controller.resolve("zlayer-it/deep"));
        Files.deleteIfExists(controller.resolve("zlayer-it"));
      }
    }
  }

  private String inside(Resources resources, String script) throws InterruptedException {
    return fixture.output(RuntimeFixture.script(script).withResources(resources));
  }
}
