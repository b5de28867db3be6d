package dev.zlayer.runtime.oci.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class DefaultSeccompTest {
  @Test
  void namesAreWrittenShortAndReadLong() {
    Json profile = DefaultSeccomp.parse("[a title]\n# nothing\nget{,e}{u,g}id x\n");
    assertThat(profile.at("syscalls").items().getFirst().at("names").strings())
        .containsExactly("getuid", "getgid", "geteuid", "getegid", "x");
  }

  @Test
  void whatEscapesAreMadeOfIsDeniedByDefault() {
    List<String> allowed = allowed("x86_64", List.of("CAP_CHOWN", "CAP_SYS_CHROOT"));
    assertThat(allowed)
        .contains("read", "chroot", "arch_prctl", "ptrace")
        .doesNotContain(
            "unshare",
            "setns",
            "mount",
            "umount2",
            "pivot_root",
            "keyctl",
            "add_key",
            "request_key",
            "clone3",
            "bpf",
            "io_uring_setup",
            "userfaultfd",
            "perf_event_open",
            "open_by_handle_at",
            "kexec_load",
            "swapon")
        .doesNotHaveDuplicates();
  }

  @Test
  void capabilitiesBringTheirCalls() {
    assertThat(allowed("x86_64", List.of("CAP_SYS_ADMIN")))
        .contains("mount", "unshare", "setns", "clone", "clone3", "bpf")
        .doesNotContain("keyctl", "pivot_root");
    assertThat(allowed("aarch64", List.of("CAP_SYS_TIME")))
        .contains("settimeofday", "sync_file_range2")
        .doesNotContain("arch_prctl");
  }

  @Test
  void cloneMakesNoNamespacesAndClone3IsAbsent() {
    List<Json> rules =
        filter("x86_64", List.of()).at("syscalls").items().stream()
            .filter(rule -> rule.at("names").strings().toString().contains("clone"))
            .toList();
    assertThat(rules.toString())
        .contains("SCMP_CMP_MASKED_EQ", Long.toString(0x7e020000L))
        .contains("38");
    assertThat(rules).hasSize(2);
  }

  @Test
  void programsOf32BitsAreCovered() {
    assertThat(filter("x86_64", List.of()).at("architectures").strings())
        .containsExactly("SCMP_ARCH_X86_64", "SCMP_ARCH_X86");
    assertThat(filter("aarch64", List.of()).at("architectures").strings())
        .containsExactly("SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM");
  }

  private static Json filter(String machine, List<String> capabilities) {
    return new SeccompFilter(machine, "6.1.0", capabilities).translate(DefaultSeccomp.profile());
  }

  /** Those allowed whatever their arguments. */
  private static List<String> allowed(String machine, List<String> capabilities) {
    List<String> names = new ArrayList<>();
    for (Json rule : filter(machine, capabilities).at("syscalls").items()) {
      if (rule.at("action").string().orElse("").equals("SCMP_ACT_ALLOW")
          && rule.at("args").items().isEmpty()) {
        names.addAll(rule.at("names").strings());
      }
    }
    return names;
  }
}
