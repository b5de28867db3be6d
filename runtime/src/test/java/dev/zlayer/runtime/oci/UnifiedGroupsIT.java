package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.Resources;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.CgroupMode;
import dev.zlayer.host.linux.CgroupSupport;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.port.Container;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.ProcessListing;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** On a host that has cgroup v2 and nothing else. */
class UnifiedGroupsIT extends OnStage {
  @BeforeEach
  void onlyVersionTwo() throws IOException {
    assertThat(Machine.cgroupMode()).isEqualTo(CgroupMode.V2);
    assertThat(CgroupSupport.read().v2()).isTrue();
  }

  @Test
  void aContainerSeesItsGroupAsTheRootAndCannotChangeIt() throws Exception {
    assertThat(
            fixture.output(
                RuntimeFixture.script(
                    "grep ^0: /proc/self/cgroup; grep cgroup2 /proc/mounts | cut -d' ' -f2;"
                        + " mkdir /sys/fs/cgroup/x 2>/dev/null || echo refused")))
        .isEqualTo("0::/\n/sys/fs/cgroup\nrefused");
  }

  @Test
  void freezingUsageAndProcessesAreThoseOfItsGroup() throws Exception {
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(), RuntimeFixture.script("sleep 300 & while true; do :; done"));
    container.start();
    Awaitility.await().until(() -> container.stats().cpuNanos() > 1_000_000);
    // the runtime has used so much before the shell began
    Awaitility.await().untilAsserted(() -> assertThat(container.stats().pids()).isEqualTo(2));
    assertThat(((ProcessListing) container).processes().rows()).hasSize(2);
    ((Pausable) container).pause();
    awaitEvent(container, "frozen 1");
    ((Pausable) container).unpause();
    awaitEvent(container, "frozen 0");
    container.remove(true);
    new Leaks(directory).assertNone();
  }

  @Test
  void frozenProcessesDieOfAForcedRemovalWithoutBeingThawed() throws Exception {
    for (int times = 0; times < 3; times++) {
      Container container =
          fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec("sleep", "300"));
      container.start();
      ((Pausable) container).pause();
      awaitEvent(container, "frozen 1");
      container.remove(true);
    }
    new Leaks(directory).assertNone();
  }

  @Test
  void limitsWithoutAControllerAreRefusedAndNothingElse() throws Exception {
    Assumptions.assumeFalse(CgroupSupport.read().controllers().contains("pids"));
    var limited = RuntimeFixture.script("true").withResources(Resources.DEFAULT.withPids(30));
    assertThatThrownBy(() -> fixture.output(limited))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("no control group controller 'pids'");
    assertThat(fixture.output(RuntimeFixture.script("echo runs"))).isEqualTo("runs");
  }

  /** Runtimes return as soon as the kernel is told. */
  private void awaitEvent(Container container, String line) throws IOException {
    Path events = group(container).resolve("cgroup.events");
    Awaitility.await().until(() -> Files.readString(events).contains(line));
  }

  /** As the kernel says: whoever looks for it meets groups of others that vanish. */
  private static Path group(Container container) throws IOException {
    Path file = Path.of("/proc", Long.toString(container.pid().orElseThrow()), "cgroup");
    String own = Files.readString(file).strip();
    return Path.of(CgroupSupport.mountPoint() + own.substring(own.lastIndexOf("::") + 2));
  }
}
