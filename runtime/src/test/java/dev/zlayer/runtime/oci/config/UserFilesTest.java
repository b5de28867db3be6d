package dev.zlayer.runtime.oci.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.util.List;
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
}
