package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

final class UserNamespacesTest {
  @Test
  void theFirstNamespaceMapsEveryNumberToItself() {
    assertThat(UserNamespaces.inside("         0          0 4294967295\n")).isFalse();
    assertThat(UserNamespaces.inside("0 1000 1\n1 100000 65536\n")).isTrue();
    assertThat(UserNamespaces.inside("0 0 65536\n")).isTrue();
    assertThat(UserNamespaces.inside("")).isTrue();
  }

  @Test
  void rootInsideIsAnotherUserOutside() {
    assertThat(UserNamespaces.owner("0 0 4294967295\n", 1000)).isEqualTo(1000);
    assertThat(UserNamespaces.owner("  0 1000 1\n  1 100000 65536\n", 0)).isEqualTo(1000);
    assertThat(UserNamespaces.owner("0 1000 1\n1 100000 65536\n", 33)).isEqualTo(100_032);
    assertThat(UserNamespaces.owner("0 1000 1\n", 33)).isEqualTo(-1);
  }

  @Test
  void theGroupOfVersion2HasNoController() {
    assertThat(Delegation.ownPath(List.of("1:cpu:/a", "0::/user.slice/zlayer.service")))
        .isEqualTo("/user.slice/zlayer.service");
    assertThat(Delegation.ownPath(List.of("1:cpu:/a"))).isEqualTo("/");
    assertThat(Delegation.given("/user.slice/zlayer.service/agent"))
        .isEqualTo(Delegation.given("/user.slice/zlayer.service"))
        .isEqualTo("/user.slice/zlayer.service");
    assertThat(Delegation.given("/agent")).isEqualTo(Delegation.given("/")).isEmpty();
  }

  @Test
  void timesFollowTheNameOfAProcess() {
    assertThat(
            NamespaceProcesses.ticks(
                "7 (a) b) S 1 7 7 0 -1 4194560 10 20 0 0 1 2 3 4 20 0 1 0 100 0 0"))
        .isEqualTo(10);
    assertThat(NamespaceProcesses.number("Name:\tx\nRssAnon:\t     168 kB\n", "RssAnon:"))
        .isEqualTo(168);
    assertThat(NamespaceProcesses.number("read_bytes: 4096\n", "write_bytes:")).isZero();
  }

  @Test
  void processesAreFoundByTheirNamespaces() throws IOException {
    long self = ProcessHandle.current().pid();
    assertThat(UserNamespaces.of(self)).hasSize(3).first().asString().startsWith("user:[");
    assertThat(UserNamespaces.processIn(UserNamespaces.of(self))).isPresent();
    assertThat(UserNamespaces.processIn(List.of("user:[1]", "mnt:[1]", "net:[1]"))).isEmpty();
    assertThat(UserNamespaces.processIn(List.of())).isEmpty();
  }
}
