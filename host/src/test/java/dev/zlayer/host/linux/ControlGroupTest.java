package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ControlGroupTest {
  @TempDir Path root;

  private void file(String path, String content) throws Exception {
    Path file = root.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, content);
  }

  private CgroupMounts.Place place(String name) {
    return new CgroupMounts.Place("/", root.resolve(name));
  }

  private Cgroups versionOne() {
    return new Cgroups(
        new CgroupMounts(
            Optional.of(place("unified")),
            Map.of(
                "memory", place("memory"),
                "pids", place("pids"),
                "cpuacct", place("cpuacct"),
                "blkio", place("blkio"))));
  }

  @Test
  void readsVersionOne() throws Exception {
    file("memory/box/memory.usage_in_bytes", "10000\n");
    file("memory/box/memory.stat", "inactive_file 1\ntotal_cache 9\ntotal_inactive_file 4000\n");
    file("memory/box/memory.limit_in_bytes", "9223372036854771712\n");
    file("memory/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    file("pids/box/pids.current", "3\n");
    file("pids/box/pids.max", "100\n");
    file("cpuacct/box/cpuacct.usage", "123456789\n");
    file(
        "blkio/box/blkio.throttle.io_service_bytes_recursive",
        "8:0 Read 100\n8:0 Write 7\n8:0 Sync 1\n8:16 Read 11\n8:16 Total 11\nTotal 118\n");

    assertThat(versionOne().at("/box").usage())
        .isEqualTo(
            new CgroupUsage(
                123456789, 6000, OptionalLong.empty(), 3, OptionalLong.of(100), 111, 7, 2));
  }

  @Test
  void readsVersionTwo() throws Exception {
    file("zlayer/box/memory.current", "10000\n");
    file("zlayer/box/memory.stat", "anon 5000\ninactive_file 3000\n");
    file("zlayer/box/memory.max", "65536\n");
    file("zlayer/box/memory.events", "low 0\noom 5\noom_kill 4\noom_group_kill 0\n");
    file("zlayer/box/pids.current", "2\n");
    file("zlayer/box/pids.max", "max\n");
    file("zlayer/box/cpu.stat", "usage_usec 1500\nuser_usec 1000\n");
    file("zlayer/box/io.stat", "8:0 rbytes=10 wbytes=20 rios=1\n254:0 rbytes=1 wbytes=2\n7:1\n");
    var groups = new Cgroups(new CgroupMounts(Optional.of(place("")), Map.of()));

    assertThat(groups.of(List.of("0::/zlayer/box")).usage())
        .isEqualTo(
            new CgroupUsage(
                1_500_000, 7000, OptionalLong.of(65536), 2, OptionalLong.empty(), 11, 22, 4));
  }

  @Test
  void theLimitsOfTheGroupThatCrunMakesBelowCount() throws Exception {
    file("zlayer/box/memory.max", "max\n");
    file("zlayer/box/pids.current", "1\n");
    file("zlayer/box/pids.max", "max\n");
    file("zlayer/box/container/memory.max", "65536\n");
    file("zlayer/box/container/pids.max", "77\n");
    var groups = new Cgroups(new CgroupMounts(Optional.of(place("")), Map.of()));

    CgroupUsage usage = groups.of(List.of("0::/zlayer/box")).usage();
    assertThat(usage.memoryLimit()).hasValue(65536);
    assertThat(usage.pidsLimit()).hasValue(77);
  }

  @Test
  void filesThatAKernelDoesNotHaveCountAsZero() throws Exception {
    file("pids/box/pids.current", "1\n");
    CgroupUsage usage = versionOne().at("/box").usage();
    assertThat(usage.pids()).isEqualTo(1);
    assertThat(usage.memoryBytes()).isZero();
    assertThat(usage.memoryLimit()).isEmpty();
  }

  @Test
  void aGroupThatIsGoneIsToldAsSuch() {
    assertThatThrownBy(() -> versionOne().at("/gone").usage())
        .isInstanceOf(NoSuchFileException.class);
  }

  @Test
  void findsTheGroupsOfAProcessInEveryHierarchy() throws Exception {
    file("memory/a/b/memory.usage_in_bytes", "7");
    file("pids/c/cgroup.procs", "12\n3\n");
    file("pids/c/below/cgroup.procs", "44\n");
    ControlGroup group =
        versionOne().of(List.of("4:memory:/a/b", "3:pids,junk:/c", "0::/", "nonsense"));
    assertThat(group.usage().memoryBytes()).isEqualTo(7);
    assertThat(group.processes()).containsExactly(3L, 12L, 44L);
  }
}
