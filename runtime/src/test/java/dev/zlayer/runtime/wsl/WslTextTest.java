package dev.zlayer.runtime.wsl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.GpuRequest;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What is said to wsl.exe, and what it says. */
class WslTextTest {
  private static final String LIST =
      """
        NAME                   STATE           VERSION
      * Debian                 Running         2
        Ubuntu 22.04           Stopped         2
        Old                    Stopped         1
      """;

  @Test
  void commandsKeepTheirWordsDirectoryAndVariables() {
    var distribution = new WslDistribution("wsl.exe", "My Debian", WslDistribution.Quoting.WINDOWS);
    Command command =
        Command.of("runc", "--root", "/a b", "say \"hi\"", "tail\\", "")
            .withEnv(Map.of("K", "v w"))
            .in(Path.of("/srv"))
            .withInput(new byte[] {1});
    Command inside = distribution.inside(command);
    assertThat(inside.arguments())
        .containsExactly(
            "wsl.exe",
            "-d",
            "\"My Debian\"",
            "-u",
            "root",
            "--cd",
            "/srv",
            "--exec",
            "/usr/bin/env",
            "\"K=v w\"",
            "runc",
            "--root",
            "\"/a b\"",
            "\"say \\\"hi\\\"\"",
            "tail\\",
            "\"\"");
    assertThat(inside.env()).isEmpty();
    assertThat(inside.directory()).isEmpty();
    assertThat(inside.input()).containsExactly(1);
  }

  @Test
  void everyLineIsTakenApartIntoTheSameWords() {
    var random = new Random(7);
    for (int round = 0; round < 5000; round++) {
      List<String> words = new ArrayList<>();
      for (int i = random.nextInt(4); i >= 0; i--) {
        var word = new StringBuilder();
        for (int length = random.nextInt(8); length > 0; length--) {
          word.append("\\\\\"\" \ta$'&|^%ö".charAt(random.nextInt(14)));
        }
        words.add(word.toString());
      }
      String line = String.join(" ", words.stream().map(WindowsWords::quote).toList());
      assertThat(apart(line)).as("seed 7, round %d: %s", round, line).isEqualTo(words);
    }
  }

  /** As the C library of Windows does it. */
  private static List<String> apart(String line) {
    List<String> words = new ArrayList<>();
    int at = 0;
    while (at < line.length()) {
      while (at < line.length() && (line.charAt(at) == ' ' || line.charAt(at) == '\t')) {
        at++;
      }
      if (at == line.length()) {
        break;
      }
      var word = new StringBuilder();
      boolean quoted = false;
      while (at < line.length()
          && (quoted || (line.charAt(at) != ' ' && line.charAt(at) != '\t'))) {
        int backslashes = 0;
        while (at < line.length() && line.charAt(at) == '\\') {
          backslashes++;
          at++;
        }
        boolean quote = at < line.length() && line.charAt(at) == '"';
        word.repeat('\\', quote ? backslashes / 2 : backslashes);
        if (quote && backslashes % 2 == 1) {
          word.append('"');
          at++;
        } else if (quote) {
          quoted = !quoted;
          at++;
        } else if (backslashes == 0) {
          word.append(line.charAt(at++));
        }
      }
      words.add(word.toString());
    }
    return words;
  }

  @Test
  void theListIsReadInEitherEncoding() {
    for (byte[] bytes :
        List.of(
            LIST.getBytes(StandardCharsets.UTF_8),
            LIST.getBytes(StandardCharsets.UTF_16LE),
            ("\uFEFF" + LIST.replace("\n", "\r\n")).getBytes(StandardCharsets.UTF_16LE))) {
      assertThat(WslList.parse(WslList.text(bytes)))
          .containsExactly(
              new WslList.Entry("Debian", true, "Running", 2),
              new WslList.Entry("Ubuntu 22.04", false, "Stopped", 2),
              new WslList.Entry("Old", false, "Stopped", 1));
    }
    assertThat(WslList.parse("Windows Subsystem for Linux has no installed distributions.\n"))
        .isEmpty();
  }

  @Test
  void aGpuNeedsItsDeviceAndItsLibraries() {
    var wanted = new GpuRequest(1, "nvidia", Optional.empty(), new GpuRequest.Sharing.Exclusive());
    WslGpu gpu = WslGpu.plan(wanted, true, true);
    assertThat(gpu.device()).isEqualTo("/dev/dxg");
    assertThat(gpu.libraries()).isEqualTo("/usr/lib/wsl/lib");
    assertThat(gpu.environment()).containsEntry("LD_LIBRARY_PATH", "/usr/lib/wsl/lib");
    String head = "gpu requested but WSL2 GPU support not available on this host: ";
    assertThatThrownBy(() -> WslGpu.plan(wanted, false, true))
        .isInstanceOf(AgentException.WslGpuUnavailable.class)
        .hasMessageStartingWith(head + "/dev/dxg is missing");
    assertThatThrownBy(() -> WslGpu.plan(wanted, true, false))
        .isInstanceOf(AgentException.WslGpuUnavailable.class)
        .hasMessageStartingWith(head + "/usr/lib/wsl/lib is missing");
    var sliced =
        new GpuRequest(
            1,
            "nvidia",
            Optional.empty(),
            new GpuRequest.Sharing.TimeSlice(
                OptionalInt.empty(), Optional.empty(), Optional.empty()));
    assertThatThrownBy(() -> WslGpu.plan(sliced, true, true))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class);
  }
}
