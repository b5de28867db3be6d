package dev.zlayer.runtime.oci.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.List;
import org.junit.jupiter.api.Test;

class SeccompFilterTest {
  private static final Json PROFILE =
      JsonText.parse(
          """
          {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38, "defaultErrno": "ENOSYS",
           "archMap": [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86"]}],
           "syscalls": [
             {"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [], "includes": {}, "excludes": {}},
             {"names": ["bpf"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_ADMIN"]}},
             {"names": ["bpf"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1, "errno": "EPERM",
              "excludes": {"caps": ["CAP_SYS_ADMIN"]}},
             {"names": ["arm_only"], "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["arm64"]}},
             {"names": ["arch_prctl"], "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["amd64"]}},
             {"names": ["ptrace"], "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "4.8"}},
             {"names": ["future"], "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "99.1"}}
           ]}
          """);

  @Test
  void rulesHoldByCapabilityArchitectureAndKernel() {
    assertThat(rules(List.of("CAP_CHOWN")))
        .containsExactly(
            "read SCMP_ACT_ALLOW",
            "bpf SCMP_ACT_ERRNO",
            "arch_prctl SCMP_ACT_ALLOW",
            "ptrace SCMP_ACT_ALLOW");
    assertThat(rules(List.of("CAP_SYS_ADMIN")))
        .contains("bpf SCMP_ACT_ALLOW")
        .doesNotContain("bpf SCMP_ACT_ERRNO");
  }

  @Test
  void onlyWhatOciKnowsIsPassedOn() {
    Json filter = new SeccompFilter("x86_64", "6.1.0", List.of()).translate(PROFILE);
    assertThat(filter.members().keySet())
        .containsExactly("defaultAction", "defaultErrnoRet", "architectures", "syscalls");
    assertThat(filter.at("syscalls").items().get(0).members().keySet())
        .containsExactly("names", "action");
    assertThat(filter.at("syscalls").items().get(1).at("errnoRet").integer()).contains(1L);
  }

  @Test
  void relatedArchitecturesAreCovered() {
    assertThat(
            new SeccompFilter("x86_64", "6.1.0", List.of())
                .translate(PROFILE)
                .at("architectures")
                .strings())
        .containsExactly("SCMP_ARCH_X86_64", "SCMP_ARCH_X86");
  }

  private static List<String> rules(List<String> capabilities) {
    return new SeccompFilter("x86_64", "6.1.0-18-amd64", capabilities)
        .translate(PROFILE).at("syscalls").items().stream()
            .map(
                rule ->
                    String.join(",", rule.at("names").strings())
                        + " "
                        + rule.at("action").string().orElse(""))
            .toList();
  }
}
