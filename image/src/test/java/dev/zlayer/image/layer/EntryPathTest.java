package dev.zlayer.image.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EntryPathTest {
  @ParameterizedTest
  @CsvSource({
    "a,'',a",
    "/a,'',a",
    "./a/,'',a",
    "a/b,a,b",
    "//a//./b//,a,b",
    "a/b/c,a/b,c",
    "./,'',''",
    "/,'',''",
    "'','',''",
    "..a/b..,..a,b..",
    ".../x,...,x"
  })
  void isRelativeToTheRoot(String raw, String parent, String name) throws Exception {
    assertThat(EntryPath.parse(raw, raw, LayerLimits.DEFAULT))
        .isEqualTo(new EntryPath(parent, name));
  }

  @ParameterizedTest
  @ValueSource(strings = {"..", "../a", "a/..", "/..", "a/./../b", "a\0b"})
  void refusesWhatLeadsElsewhere(String raw) {
    assertThatThrownBy(() -> EntryPath.parse("entry", raw, LayerLimits.DEFAULT))
        .isInstanceOf(LayerException.class)
        .hasMessageContaining("entry");
  }
}
