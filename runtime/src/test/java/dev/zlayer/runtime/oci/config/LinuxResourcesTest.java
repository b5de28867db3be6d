package dev.zlayer.runtime.oci.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.Resources;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LinuxResourcesTest {
  @Test
  void limitsAreWrittenAsOciWantsThem() {
    var wanted = resources(1.5, 64 << 20, OptionalLong.empty(), OptionalInt.empty());
    assertThat(JsonText.print(LinuxResources.limits(wanted, host(false, true))))
        .isEqualTo(
            "{\"memory\":{\"limit\":67108864,\"swap\":134217728},"
                + "\"cpu\":{\"quota\":150000,\"period\":100000},"
                + "\"pids\":{\"limit\":4096},\"blockIO\":{}}");
  }

  @Test
  void noProcessLimitIsNoneAtFirstAndAsManyAsTheKernelHasLater() {
    var unlimited = Resources.DEFAULT.withPids(-1);
    assertThat(
            JsonText.print(
                LinuxResources.of(unlimited, host(true, true), List.of(), List.of(), true)))
        .isEqualTo("{\"devices\":[{\"allow\":true,\"access\":\"rwm\"}]}");
    assertThat(JsonText.print(LinuxResources.limits(unlimited, host(true, true))))
        .contains("\"pids\":{\"limit\":4194304}");
  }

  @Test
  void devicesAreDeniedButForThoseGiven() {
    var device = new DeviceNode("/dev/x", "c", 300, 70_000, 0666, 0, 0, "rw");
    String section =
        JsonText.print(
            LinuxResources.of(
                Resources.DEFAULT, host(false, true), List.of(device), List.of("b *:3 r"), false));
    assertThat(section)
        .contains("{\"allow\":false,\"access\":\"rwm\"}")
        .contains(
            "{\"allow\":true,\"type\":\"c\",\"major\":300,\"minor\":70000,\"access\":\"rw\"}");
  }

  @Test
  void whatTheHostLacksIsRefused() {
    var swappiness = resources(1, 64 << 20, OptionalLong.empty(), OptionalInt.of(10));
    assertThatThrownBy(() -> LinuxResources.limits(swappiness, host(true, true)))
        .isInstanceOf(AgentException.Unsupported.class);
    var swap = resources(1, 64 << 20, OptionalLong.of(-1), OptionalInt.empty());
    assertThatThrownBy(() -> LinuxResources.limits(swap, host(false, false)))
        .isInstanceOf(AgentException.Unsupported.class);
  }

  @Test
  void limitsWithoutAControllerAreRefusedUnlessNobodyAskedForThem() {
    var bare = host(true, false, Set.of("hugetlb"));
    assertThat(JsonText.print(LinuxResources.limits(Resources.DEFAULT, bare)))
        .isEqualTo("{\"memory\":{},\"cpu\":{},\"blockIO\":{}}");
    assertThatThrownBy(() -> LinuxResources.limits(Resources.DEFAULT.withPids(100), bare))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("no control group controller 'pids'");
    var memory = resources(1, 64 << 20, OptionalLong.empty(), OptionalInt.empty());
    assertThatThrownBy(() -> LinuxResources.limits(memory, bare))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("no control group controller 'memory'");
  }

  @Test
  void whatCannotBeMeantIsInvalid() {
    var less = resources(1, 64 << 20, OptionalLong.of(1 << 20), OptionalInt.empty());
    assertThatThrownBy(() -> LinuxResources.limits(less, host(false, true)))
        .isInstanceOf(AgentException.InvalidSpec.class);
    assertThatThrownBy(
            () -> LinuxResources.limits(Resources.DEFAULT.withPids(0), host(false, true)))
        .isInstanceOf(AgentException.InvalidSpec.class);
    var endless =
        new Resources(
            OptionalDouble.empty(),
            OptionalLong.empty(),
            Optional.of("1" + ",1".repeat(100_000)),
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
    assertThatThrownBy(() -> LinuxResources.limits(endless, host(true, true)))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("cpuset");
  }

  private static Resources resources(
      double cpus, long memory, OptionalLong swap, OptionalInt swappiness) {
    return new Resources(
        OptionalDouble.of(cpus),
        OptionalLong.empty(),
        Optional.empty(),
        OptionalLong.of(memory),
        swap,
        OptionalLong.empty(),
        swappiness,
        OptionalLong.empty(),
        OptionalInt.empty(),
        false,
        OptionalInt.empty(),
        Map.of(),
        Optional.empty());
  }

  private static KernelFacts host(boolean v2, boolean swap) {
    return host(v2, swap, Set.of("memory", "cpu", "cpuset", "pids"));
  }

  private static KernelFacts host(boolean v2, boolean swap, Set<String> controllers) {
    return new KernelFacts(
        "x86_64",
        "6.1",
        0,
        false,
        Map.of(),
        0,
        new KernelFacts.Cgroup(v2, false, swap, false, controllers, Optional.of("/zlayer")),
        Set.of(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty());
  }
}
