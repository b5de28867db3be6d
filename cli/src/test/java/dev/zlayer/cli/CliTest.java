package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class CliTest {
  @TempDir Path directory;

  private CliFixture.Result run(String... arguments) {
    return new CliFixture(directory, Map.of()).run(arguments);
  }

  @ParameterizedTest
  @ValueSource(strings = {"--help", "-h", "help"})
  void helpListsEveryVerbByGroup(String word) {
    var result = run(word);

    assertThat(result.code()).isZero();
    for (Verb verb : Verb.values()) {
      assertThat(result.out()).containsPattern("(?m)^  " + verb.word + " +[A-Z]");
    }
    assertThat(run()).isEqualTo(result);
  }

  @ParameterizedTest
  @EnumSource(Verb.class)
  void everyVerbExplainsItself(Verb verb) {
    var result = run(verb.word, "--help");

    assertThat(result.code()).isZero();
    assertThat(result.out()).startsWith("Usage: zlayer " + verb.word).contains("--help");
    assertThat(run("help", verb.word)).isEqualTo(result);
  }

  @Test
  void aTypoInAVerbGetsASuggestionAndExitCode2() {
    var result = run("versoin");

    assertThat(result.code()).isEqualTo(2);
    assertThat(result.out()).isEmpty();
    assertThat(result.err())
        .isEqualTo(
            "zlayer: there is no command 'versoin', did you mean 'version'?; "
                + "'zlayer --help' lists all\n");
  }

  @Test
  void aTypoInAnOptionGetsASuggestionAndExitCode2() {
    var result = run("version", "--jsno");

    assertThat(result.code()).isEqualTo(2);
    assertThat(result.err())
        .contains("--jsno")
        .contains("--json")
        .contains("zlayer version --help");
  }

  @Test
  void versionIsThatOfTheBuild() {
    assertThat(run("version").out()).matches("zlayer \\d+\\.\\d+\\.\\d+\\S* \\(java 25.*\\)\n");
    assertThat(JsonText.parse(run("version", "--json").out()).at("version").string()).isPresent();
    assertThat(run("--version").out()).isEqualTo(run("version").out());
  }

  @Test
  void infoTellsWhatIsThereAndWhatIsMissing() {
    var json = JsonText.parse(run("info", "--json").out());

    assertThat(json.at("kernel").string()).isPresent();
    assertThat(json.at("parts").items()).isNotEmpty();
    assertThat(run("info").out()).contains("conmon").contains("cgroups");
  }

  @Test
  void completionScriptsAreSoundShell() throws Exception {
    for (String shell : new String[] {"bash", "zsh"}) {
      var result = run("completions", shell);
      assertThat(result.code()).isZero();
      assertThat(result.out()).contains("version");
    }
    var script = run("completions", "bash").out().getBytes(StandardCharsets.UTF_8);
    var checked =
        Processes.run(
            Command.of("bash", "-n").withInput(script), Deadline.after(Duration.ofSeconds(20)));
    assertThat(checked.stderr()).isEmpty();
    assertThat(checked.code()).isZero();
  }
}
