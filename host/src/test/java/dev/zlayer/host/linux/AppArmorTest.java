package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AppArmorTest {
  @Test
  void readsTheListOfLoadedProfiles() {
    String list =
        "/usr/bin/man (enforce)\nzlayer-default (enforce)\nodd (name) (complain)\nshort\n";

    assertThat(AppArmor.lists(list, "zlayer-default")).isTrue();
    assertThat(AppArmor.lists(list, "odd (name)")).isTrue();
    assertThat(AppArmor.lists(list, "zlayer")).isFalse();
    assertThat(AppArmor.lists(list, "short")).isFalse();
  }

  @Test
  void profilesAreFoundByTheirDirectories(@TempDir Path directory) throws IOException {
    Files.createDirectory(directory.resolve("zlayer-pasta.17"));
    Files.createDirectory(directory.resolve("zlayer-default-2.3"));

    assertThat(AppArmor.listed(directory, "zlayer-pasta")).isTrue();
    assertThat(AppArmor.listed(directory, "zlayer-default")).isFalse();
    assertThat(AppArmor.listed(directory.resolve("none"), "zlayer-pasta")).isFalse();
  }

  @Test
  void pastaMayOpenNamespacesOnlyWithARuleForIt() {
    assertThat(AppArmor.connects("  @{PROC}/net/tcp\t\tr,\t# ptrace\n  # ptrace,\n")).isFalse();
    assertThat(AppArmor.connects("  @{PROC}/net/tcp r,\n  ptrace (read),\n")).isTrue();
  }
}
