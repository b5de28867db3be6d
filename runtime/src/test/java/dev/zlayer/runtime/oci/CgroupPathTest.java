package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class CgroupPathTest {
  @Test
  void theTagTellsAgentsApart() {
    assertThat(CgroupPath.of("tag", "box", Optional.empty(), false))
        .isEqualTo(new CgroupPath("/zlayer/tag-box", "/zlayer/tag-box"));
    assertThat(CgroupPath.of("tag", "box", Optional.of("/my/own"), false).directory())
        .isEqualTo("/my/own/tag-box");
  }

  @Test
  void systemdHasSlicesAndScopes() {
    assertThat(CgroupPath.of("tag", "box", Optional.empty(), true))
        .isEqualTo(
            new CgroupPath("system.slice:zlayer:tag-box", "/system.slice/zlayer-tag-box.scope"));
    assertThatThrownBy(() -> CgroupPath.of("tag", "box", Optional.of("/my"), true))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }

  @Test
  void parentsThatLeadElsewhereAreRefused() {
    for (String parent : List.of("..", "/a/../..", "/", " ")) {
      assertThatThrownBy(() -> CgroupPath.of("tag", "box", Optional.of(parent), false))
          .isInstanceOf(AgentException.InvalidSpec.class);
    }
  }
}
