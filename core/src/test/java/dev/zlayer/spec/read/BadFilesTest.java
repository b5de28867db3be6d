package dev.zlayer.spec.read;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.spec.problem.Problem;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every file under {@code bad} yields exactly the lines in the file beside it. */
class BadFilesTest {
  private static final String SCHEMA_TOO = "# the schema refuses this too";

  static List<Path> files() {
    return SpecFiles.in(SpecFiles.BAD);
  }

  static List<Path> filesForTheSchema() {
    return files().stream().filter(file -> SpecFiles.text(file).startsWith(SCHEMA_TOO)).toList();
  }

  @ParameterizedTest
  @MethodSource("files")
  void yieldsTheExpectedLines(Path file) {
    String name = file.getFileName().toString();
    Path expected = file.resolveSibling(name.replace(".zlayer.yml", ".expected"));
    var result = SpecReader.read(name, SpecFiles.bytes(file));
    assertThat(result).isInstanceOf(SpecResult.Invalid.class);
    assertThat(((SpecResult.Invalid) result).problems())
        .extracting(Problem::toString)
        .containsExactlyElementsOf(SpecFiles.text(expected).lines().toList());
  }

  @ParameterizedTest
  @MethodSource("filesForTheSchema")
  void isRefusedByTheSchema(Path file) {
    assertThat(SpecFiles.schemaErrors(SpecFiles.schema(), SpecFiles.bytes(file))).isNotEmpty();
  }

  @Test
  void tenMistakesAreTenLines() {
    assertThat(SpecFiles.text(SpecFiles.BAD.resolve("ten-mistakes.expected")).lines()).hasSize(10);
  }
}
