package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class CgroupMountsTest {
  private static final String UNIFIED =
      "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";
  private static final List<String> HYBRID =
      List.of(
          "29 23 0:25 / /sys/fs/cgroup ro shared:9 - tmpfs tmpfs ro,mode=755",
          "30 29 0:26 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw",
          "31 29 0:27 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,name=systemd",
          "32 29 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:15 - cgroup cgroup rw,cpu,cpuacct",
          "33 29 0:29 / /sys/fs/cgroup/my\\040memory rw shared:16 - cgroup cgroup rw,memory");

  @Test
  void tellsTheThreeModesApart() {
    assertThat(CgroupMounts.parse(List.of(UNIFIED)).mode()).isEqualTo(CgroupMode.V2);
    assertThat(CgroupMounts.parse(HYBRID).mode()).isEqualTo(CgroupMode.HYBRID);
    assertThat(CgroupMounts.parse(List.of(HYBRID.get(0), HYBRID.get(3))).mode())
        .isEqualTo(CgroupMode.V1);
    assertThat(CgroupMounts.parse(List.of("garbage", "")).mode()).isEqualTo(CgroupMode.NONE);
  }

  @Test
  void systemdsNamedHierarchyAloneIsNotVersionOne() {
    assertThat(CgroupMounts.parse(List.of(UNIFIED, HYBRID.get(2))).mode()).isEqualTo(CgroupMode.V2);
  }

  @Test
  void findsTheDirectoryOfAGroupPerController() {
    CgroupMounts mounts = CgroupMounts.parse(HYBRID);
    assertThat(mounts.controllers().get("cpuacct").directory("/zlayer/a"))
        .isEqualTo(Path.of("/sys/fs/cgroup/cpu,cpuacct/zlayer/a"));
    assertThat(mounts.controllers().get("memory").directory("/"))
        .isEqualTo(Path.of("/sys/fs/cgroup/my memory"));
  }

  @Test
  void aMountThatShowsOnlyAPartIsTakenIntoAccount() {
    String inside = "30 23 0:26 /pod/box /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
    CgroupMounts.Place place = CgroupMounts.parse(List.of(inside)).unified().orElseThrow();
    assertThat(place.directory("/pod/box/a")).isEqualTo(Path.of("/sys/fs/cgroup/a"));
    assertThat(place.directory("/pod/box")).isEqualTo(Path.of("/sys/fs/cgroup"));
  }
}
