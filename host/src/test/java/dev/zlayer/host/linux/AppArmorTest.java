package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

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
  void pastaMayOpenNamespacesOnlyWithARuleForIt() {
    assertThat(AppArmor.connects("  @{PROC}/net/tcp\t\tr,\t# ptrace\n  # ptrace,\n")).isFalse();
    assertThat(AppArmor.connects("  @{PROC}/net/tcp r,\n  ptrace (read),\n")).isTrue();
  }
}
