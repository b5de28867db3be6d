package dev.zlayer.runtime.oci.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class OciProcessTest {
  private static final String NEVER_LOADED = "zlayer-test-never-loaded";

  @Test
  void aProfileThatCouldNotBeLoadedIsNotLeftOut() {
    assertThatThrownBy(
            () ->
                OciProcess.defaultProfile(
                    host(Optional.of(NEVER_LOADED), Optional.of("the parser took too long"))))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("'zlayer-test-never-loaded'")
        .hasMessageContaining("the parser took too long")
        .hasMessageContaining("apparmor=unconfined");
  }

  @Test
  void aHostWithoutProfilesConfinesNobody() {
    assertThat(
            OciProcess.defaultProfile(
                host(Optional.empty(), Optional.of("the kernel does not use AppArmor"))))
        .isEmpty();
    assertThat(OciProcess.defaultProfile(host(Optional.of("loaded"), Optional.empty())))
        .contains("loaded");
  }

  private static KernelFacts host(Optional<String> profile, Optional<String> problem) {
    return new KernelFacts(
        "x86_64",
        "6.1",
        0,
        false,
        Map.of(),
        0,
        new KernelFacts.Cgroup(true, false, false, false, Set.of(), Optional.of("/zlayer")),
        Set.of(),
        Optional.empty(),
        Optional.empty(),
        profile,
        problem);
  }
}
