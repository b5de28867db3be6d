package dev.zlayer.runtime.observe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InnerPathTest {
  @ParameterizedTest
  @CsvSource({
    "/, '', ''",
    "/etc, '', etc",
    "etc, '', etc",
    "/etc/, etc, ''",
    "/etc/., etc, ''",
    "//a//./b, a, b",
    "/a/../../b/c, b, c",
    "/.., '', ''"
  })
  void keepsTheLastNameApartUnlessItIsToBeFollowed(String path, String parent, String name) {
    assertThat(InnerPath.parse(path)).isEqualTo(new InnerPath(parent, name));
  }

  @Test
  void refusesWhatIsNoPath() {
    assertThatThrownBy(() -> InnerPath.parse("")).isInstanceOf(AgentException.InvalidSpec.class);
    assertThatThrownBy(() -> InnerPath.parse("a\0b"))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }
}
