package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.runtime.oci.config.KernelFacts;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CgroupPathTest {
  @Test
  void theTagTellsAgentsApart() {
    assertThat(CgroupPath.of("tag", "box", Optional.empty(), host(false)))
        .isEqualTo(new CgroupPath(Optional.of("/zlayer/tag-box"), "/zlayer/tag-box"));
    assertThat(CgroupPath.of("tag", "box", Optional.of("/my/own"), host(false)).directory())
        .isEqualTo("/my/own/tag-box");
  }

  @Test
  void systemdHasSlicesAndScopes() {
    assertThat(CgroupPath.of("tag", "box", Optional.empty(), host(true)))
        .isEqualTo(
            new CgroupPath(
                Optional.of("system.slice:zlayer:tag-box"), "/system.slice/zlayer-tag-box.scope"));
    assertThatThrownBy(() -> CgroupPath.of("tag", "box", Optional.of("/my"), host(true)))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }

  @Test
  void parentsThatLeadElsewhereAreRefused() {
    for (String parent : List.of("..", "/a/../..", "/", " ")) {
      assertThatThrownBy(() -> CgroupPath.of("tag", "box", Optional.of(parent), host(false)))
          .isInstanceOf(AgentException.InvalidSpec.class);
    }
  }

  @Test
  void anAgentThatMayMakeNoneHasNone() {
    var none = new KernelFacts.Cgroup(true, false, false, false, Set.of(), Optional.empty());
    assertThat(CgroupPath.of("tag", "box", Optional.empty(), none).oci()).isEmpty();
    assertThatThrownBy(() -> CgroupPath.of("tag", "box", Optional.of("/my"), none))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("without root");
  }

  @Test
  void aDelegatedGroupIsTheParent() {
    var given =
        new KernelFacts.Cgroup(
            true, false, false, false, Set.of(), Optional.of("/user/containers"));
    assertThat(CgroupPath.of("tag", "box", Optional.empty(), given).oci())
        .contains("/user/containers/tag-box");
  }

  private static KernelFacts.Cgroup host(boolean systemd) {
    return new KernelFacts.Cgroup(true, systemd, false, false, Set.of(), Optional.of("/zlayer"));
  }
}
