package dev.zlayer.runtime.wsl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class WslPathsTest {
  private static final WslPaths PATHS = WslPaths.of("Debian");

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "C:\\data | /mnt/c/data",
        "c:/data/ | /mnt/c/data",
        "D:\\ | /mnt/d",
        "E: | /mnt/e",
        "C:\\Program Files\\It's \"me\" | /mnt/c/Program Files/It's \"me\"",
        "C:\\Grüße\\ümlaut | /mnt/c/Grüße/ümlaut",
        "C:\\a\\\\b | /mnt/c/a/b",
        "\\\\?\\C:\\very\\long | /mnt/c/very/long",
        "\\\\wsl$\\Debian\\home\\me | /home/me",
        "\\\\WSL.localhost\\debian\\srv\\a b | /srv/a b",
        "\\\\wsl.localhost\\Debian | /",
        "\\\\?\\UNC\\wsl.localhost\\Debian\\x | /x",
        "/srv/data | /srv/data",
        "/ | /",
      })
  void namesOfWindowsAreFoundInTheDistribution(String windows, String linux) {
    assertThat(PATHS.toLinux(windows)).isEqualTo(linux);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/mnt/c/data | C:\\data",
        "/mnt/c | C:\\",
        "/mnt/cc/data | \\\\wsl.localhost\\Debian\\mnt\\cc\\data",
        "/home/a b | \\\\wsl.localhost\\Debian\\home\\a b",
      })
  void namesOfTheDistributionAreFoundOnWindows(String linux, String windows) {
    assertThat(PATHS.toWindows(linux)).isEqualTo(windows);
  }

  @ParameterizedTest
  @ValueSource(strings = {"C:\\a b\\c", "Z:\\x", "\\\\wsl.localhost\\Debian\\srv\\x"})
  void thereAndBackIsTheSame(String windows) {
    assertThat(PATHS.toWindows(PATHS.toLinux(windows))).isEqualTo(windows);
  }

  @ParameterizedTest
  @ValueSource(strings = {"data", "..\\data", "C:data", "\\data", ""})
  void relativeNamesAreRefused(String name) {
    assertThatThrownBy(() -> PATHS.toLinux(name)).isInstanceOf(AgentException.InvalidSpec.class);
  }

  @Test
  void whatTheDistributionCannotSeeIsRefused() {
    assertThatThrownBy(() -> PATHS.toLinux("\\\\server\\share\\x"))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("another machine");
    assertThatThrownBy(() -> PATHS.toLinux("\\\\wsl$\\Ubuntu\\x"))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("'Ubuntu'");
  }

  @Test
  void drivesCanBeShownElsewhere() {
    var paths = new WslPaths("Debian", "/drives/");
    assertThat(paths.toLinux("C:\\a")).isEqualTo("/drives/c/a");
    assertThat(paths.toWindows("/drives/c/a")).isEqualTo("C:\\a");
  }
}
