package dev.zlayer.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PlatformTest {
  @ParameterizedTest
  @CsvSource({
    "linux/amd64, linux/amd64",
    "Linux/x86_64, linux/amd64",
    "linux/aarch64, linux/arm64",
    "linux/arm64/v8, linux/arm64",
    "linux/arm/7, linux/arm/v7",
    "macos/arm64, darwin/arm64"
  })
  void parsesToTheCanonicalWords(String text, String canonical) {
    assertThat(Platform.parse(text)).hasToString(canonical);
  }

  @ParameterizedTest
  @CsvSource({
    "linux/amd64, linux/amd64, true",
    "linux/amd64, linux/arm64, false",
    "linux/amd64, windows/amd64, false",
    "linux/arm/v7, linux/arm/v6, true",
    "linux/arm/v6, linux/arm/v7, false",
    "linux/arm64, linux/arm64/v8, true",
    "linux/amd64, linux/amd64/v3, false",
    "linux/amd64/v4, linux/amd64/v3, true"
  })
  void aNodeRunsItsOwnKindUpToItsVariant(String node, String image, boolean runs) {
    assertThat(Platform.parse(node).runs(Platform.parse(image))).isEqualTo(runs);
  }

  @Test
  void windowsBuildsHaveToMatchButPatchesNeedNot() {
    assertThat(windows("10.0.20348.1006").runs(windows("10.0.20348.2113"))).isTrue();
    assertThat(windows("10.0.20348.1006").runs(windows("10.0.17763.1"))).isFalse();
  }

  private static Platform windows(String version) {
    return new Platform("windows", "amd64", Optional.empty(), Optional.of(version));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "linux", "linux/", "/amd64", "a/b/c/d", "linux/am d64"})
  void refusesTheRest(String text) {
    assertThatThrownBy(() -> Platform.parse(text)).isInstanceOf(AgentException.InvalidSpec.class);
  }
}
