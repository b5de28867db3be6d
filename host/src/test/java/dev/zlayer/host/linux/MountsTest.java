package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class MountsTest {
  @Test
  void readsTheMountTable() {
    List<Mounts.MountPoint> mounts =
        Mounts.parse(
            List.of(
                "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime shared:1 master:2 - ext4 /dev/root rw,x=y",
                "37 36 0:5 / /proc rw - proc proc rw"));

    assertThat(mounts)
        .containsExactly(
            new Mounts.MountPoint(Path.of("/mnt 2"), "ext4", "/dev/root", "rw,x=y", true, true),
            new Mounts.MountPoint(Path.of("/proc"), "proc", "proc", "rw", false, false));
  }

  @Test
  void knowsWhatIsMountedHere() throws Exception {
    assertThat(Mounts.list()).extracting(Mounts.MountPoint::target).contains(Path.of("/proc"));
    assertThat(Mounts.of(Path.of("/proc/self/status")).target()).isEqualTo(Path.of("/proc"));
    assertThat(Mounts.mounted(Path.of("/proc"))).isTrue();
    assertThat(Mounts.mounted(Path.of("/proc/self"))).isFalse();
    assertThat(Mounts.mounted(Path.of("/absent"))).isFalse();
  }
}
