package dev.zlayer.runtime.oci.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class UserFilesTest {
  private static final UserFiles FILES =
      new UserFiles(
          "odd:x:4294967294:4294967294::/:/bin/sh\nroot:x:0:0::/:/bin/sh\napp:x:7:8::/:/bin/sh\n",
          "big:x:4294967290:odd\napp:x:8:\nmore:x:9:app\n");

  @Test
  void aLineAboutSomebodyElseDoesNotMatter() {
    assertThat(FILES.lookup("", List.of())).isEqualTo(new User(0, 0, List.of(0L)));
    assertThat(FILES.lookup("app", List.of())).isEqualTo(new User(7, 8, List.of(8L, 9L)));
    assertThat(FILES.lookup("app:more", List.of("app"))).isEqualTo(new User(7, 9, List.of(9L, 8L)));
    assertThat(FILES.lookup("12", List.of("9"))).isEqualTo(new User(12, 0, List.of(0L, 9L)));
  }

  @Test
  void anIdThatIsTooLargeIsRefusedWhenItIsUsed() {
    for (String user : List.of("odd", "4294967294", "0:big", "0:4294967290")) {
      assertThatThrownBy(() -> FILES.lookup(user, List.of()))
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining("ids go up to 2147483647");
    }
    assertThatThrownBy(() -> FILES.lookup("0", List.of("big")))
        .hasMessageContaining("ids go up to 2147483647");
  }

  /** containerd 2026: an image whose root has a number as its name. */
  @Test
  void aNumberIsNeverAName() {
    String large = "9".repeat(30);
    var files =
        new UserFiles(
            "1000:x:0:0::/:/bin/sh\n%s:x:0:0::/:/bin/sh\napp:x:1001:1001::/:/bin/sh\n"
                .formatted(large),
            "1000:x:0:\n%s:x:0:\n".formatted(large));
    assertThat(files.lookup("1000", List.of())).isEqualTo(new User(1000, 0, List.of(0L)));
    assertThat(files.lookup("01001:1000", List.of()))
        .isEqualTo(new User(1001, 1000, List.of(1000L)));
    for (String user : List.of(large, "0:" + large)) {
      assertThatThrownBy(() -> files.lookup(user, List.of()))
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining("ids go up to 2147483647");
    }
    assertThatThrownBy(() -> files.lookup("app", List.of(large)))
        .hasMessageContaining("ids go up to 2147483647");
  }

  /** containerd 2026: a user in more groups than any process can have. */
  @Test
  void aUserInTooManyGroupsIsRefused() {
    String groups =
        IntStream.range(1, 66_000)
            .mapToObj(id -> "g:x:%d:app\n".formatted(id))
            .collect(Collectors.joining());
    var files = new UserFiles("app:x:7:8::/:/bin/sh\nother:x:9:9::/:/bin/sh\n", groups);
    assertThatThrownBy(() -> files.lookup("app", List.of()))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("user 'app' is in more than 65000 groups");
    assertThat(files.lookup("other", List.of())).isEqualTo(new User(9, 9, List.of(9L)));
  }

  @Test
  void membersAreComparedWhole() {
    var files =
        new UserFiles(
            "app:x:7:8::/:/bin/sh\n",
            "a:x:1:myapp,app2\n"
                + "b:x:2:app2,app\n"
                + "c:x:3:app,app2\n"
                + "d:x:4:app:more\n"
                + "e:x:5:\n"
                + "f:x:6:app2app\n");
    assertThat(files.lookup("app", List.of()).extraGids()).containsExactly(8L, 2L, 3L, 4L);
  }
}
