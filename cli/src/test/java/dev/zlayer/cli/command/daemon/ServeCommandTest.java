package dev.zlayer.cli.command.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Flags that need no explanation are read without a grammar, all others by it. */
class ServeCommandTest {
  @Test
  void plainFlagsAreRead() {
    assertThat(ServeCommand.values(List.of())).hasValue(Map.of());
    assertThat(
            ServeCommand.values(
                List.of("--data-dir", "/srv/a b", "--log-level=debug", "--config", "z.yml")))
        .hasValue(Map.of("--data-dir", "/srv/a b", "--log-level", "debug", "--config", "z.yml"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--help",
        "-h",
        "--no-such-flag x",
        "--data-dir",
        "--data-dir=",
        "--data-dir --log-level debug",
        "--data-dir a --data-dir b",
        "--data-dir @file",
        "word",
        "-- --data-dir"
      })
  void whatHasToBeExplainedIsLeftToTheGrammar(String line) {
    assertThat(ServeCommand.values(List.of(line.split(" ")))).isEmpty();
  }
}
