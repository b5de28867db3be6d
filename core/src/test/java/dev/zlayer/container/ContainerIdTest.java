package dev.zlayer.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ContainerIdTest {
  @Test
  void differentIdentitiesNeverShareARuntimeName() {
    Map<String, ContainerId> seen = new HashMap<>();
    for (String deployment : new String[] {"a", "a-b", "a/b"}) {
      for (String service : new String[] {"b", "b-c", "B", "ü"}) {
        for (String role : new String[] {"default", "c", "c-1"}) {
          for (int replica = 1; replica <= 3; replica++) {
            for (long generation = 0; generation < 3; generation++) {
              var id = new ContainerId(deployment, service, role, replica, generation);
              assertThat(seen.put(id.runtimeName(), id)).isNull();
            }
          }
        }
      }
    }
  }

  @Test
  void runtimeNamesAreSafeForFilesCgroupsAndInterfaces() {
    for (String service : new String[] {"web", "../../etc", "x".repeat(500), "ÄÖ", "-", "a b\nc"}) {
      assertThat(ContainerId.of("shop", service, 1).runtimeName())
          .matches("[a-z0-9][a-z0-9-]*-[0-9a-f]{16}")
          .hasSizeLessThanOrEqualTo(47);
    }
  }

  @Test
  void theNameIsStableAcrossVersions() {
    assertThat(ContainerId.of("shop", "web", 1).runtimeName()).isEqualTo("web-cdaa3778ff30b30a");
  }

  @Test
  void textShowsOnlyWhatDistinguishes() {
    assertThat(ContainerId.of("shop", "web", 2)).hasToString("shop/web/2");
    var replica = new ContainerId("shop", "db", "primary", 1, 4);
    assertThat(replica).hasToString("shop/db/primary/1");
    assertThat(replica.path()).isEqualTo("shop/db/primary/1@4");
    assertThat(ContainerId.ofExecution("shop", "report", 12, 3)).hasToString("shop/report/12");
    assertThat(ContainerId.ofExecution("-", "report", 12, 1)).hasToString("report/12");
  }

  @Test
  void refusesWhatIdentifiesNothing() {
    assertThatThrownBy(() -> ContainerId.of("", "web", 1))
        .isInstanceOf(AgentException.InvalidSpec.class);
    assertThatThrownBy(() -> ContainerId.of("shop", "web", 0))
        .hasMessageContaining("counted from 1");
  }
}
