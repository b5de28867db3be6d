package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.IdRange;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.container.SecuritySpec.Namespace;
import dev.zlayer.container.SecuritySpec.Users;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class UserIdsTest {
  private static final ContainerSpec PLAIN = ContainerSpec.of(ImageRef.parse("busybox"));

  @Test
  void rangesNeverOverlapAndAreBounded() {
    var pool = new UserIds.Pool(true, 1_000_000, 10L * IdRange.SIZE + 5);
    var taken = new HashSet<IdRange>();
    // one of an earlier pool that is not at a multiple of this one's
    taken.add(new IdRange(1_000_000 + 3L * IdRange.SIZE + 7));
    for (int i = 0; i < 8; i++) {
      IdRange range = UserIds.choose(pool, "container-" + i, taken);
      assertThat(taken).allMatch(other -> Math.abs(other.first() - range.first()) >= IdRange.SIZE);
      assertThat(range.first()).isBetween(1_000_000L, 1_000_000L + 9 * IdRange.SIZE);
      taken.add(range);
    }
    assertThatThrownBy(() -> UserIds.choose(pool, "one-more", taken))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("userns_pool");
  }

  @Test
  void aContainerMadeAgainHasItsNumbersAgain() {
    IdRange first = UserIds.choose(UserIds.Pool.DEFAULT, "web-1", new HashSet<>());
    assertThat(UserIds.choose(UserIds.Pool.DEFAULT, "web-1", new HashSet<>())).isEqualTo(first);
  }

  @ParameterizedTest
  @EnumSource(Users.class)
  void theOperatorDecidesWhereNobodyElseDoes(Users users) {
    ContainerSpec spec = PLAIN.withSecurity(SecuritySpec.DEFAULT.withUsers(users));
    assertThat(UserIds.wanted(spec, true)).isEqualTo(users == Users.PRIVATE);
    assertThat(UserIds.wanted(spec, false)).isEqualTo(users == Users.PRIVATE);
    assertThat(UserIds.wanted(PLAIN, true)).isTrue();
    assertThat(UserIds.wanted(PLAIN, false)).isFalse();
  }

  @Test
  void whatNeedsTheHostIsRefusedWithTheReason() {
    List<ContainerSpec> specs =
        List.of(
            PLAIN.withSecurity(security(true, new Namespace.Private(), new Namespace.Private())),
            PLAIN.withSecurity(security(false, new Namespace.Host(), new Namespace.Private())),
            PLAIN.withSecurity(security(false, new Namespace.Private(), new Namespace.Host())),
            PLAIN.withNetwork(NetworkSpec.of(new NetworkSpec.Mode.Host())));
    for (ContainerSpec spec : specs) {
      assertThat(UserIds.wanted(spec, false)).isFalse();
      assertThatThrownBy(() -> UserIds.wanted(spec, true))
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining("cannot be combined with users of its own")
          .hasMessageContaining("'userns: auto'; use userns_mode 'host'");
      var host = spec.withSecurity(spec.security().withUsers(Users.HOST));
      assertThat(UserIds.wanted(host, true)).isFalse();
    }
  }

  @Test
  void sharedNamespacesNeedTheSameUsers() {
    var ids = Optional.of(new IdRange(1_000_000));
    var others = Optional.of(new IdRange(2_000_000));
    assertThat(UserIds.shared(PLAIN, List.of(ids, ids))).isEqualTo(ids);
    assertThat(UserIds.shared(PLAIN, List.of(Optional.empty()))).isEmpty();
    assertThatThrownBy(() -> UserIds.shared(PLAIN, List.of(ids, others)))
        .isInstanceOf(AgentException.InvalidSpec.class);
    var own = PLAIN.withSecurity(SecuritySpec.DEFAULT.withUsers(Users.PRIVATE));
    assertThatThrownBy(() -> UserIds.shared(own, List.of(Optional.empty())))
        .hasMessageContaining("has the host's users");
    var privileged =
        PLAIN.withSecurity(
            security(
                true, new Namespace.Shared(ContainerId.of("a", "b", 1)), new Namespace.Private()));
    assertThat(UserIds.sharedWith(privileged)).containsExactly(ContainerId.of("a", "b", 1));
    assertThatThrownBy(() -> UserIds.shared(privileged, List.of(ids)))
        .hasMessageContaining("privileged");
  }

  @Test
  void aPoolThatHoldsUsersOfTheHostIsRefused() {
    assertThatThrownBy(() -> new UserIds.Pool(true, 1000, 1_000_000))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("userns_pool 1000:1000000");
    assertThatThrownBy(() -> new UserIds.Pool(true, 4_294_900_000L, IdRange.SIZE))
        .isInstanceOf(AgentException.Configuration.class);
  }

  private static SecuritySpec security(boolean privileged, Namespace pid, Namespace ipc) {
    return new SecuritySpec(
        List.of(),
        List.of(),
        new SecuritySpec.Seccomp.Default(),
        true,
        privileged,
        pid,
        ipc,
        Map.of(),
        List.of());
  }
}
