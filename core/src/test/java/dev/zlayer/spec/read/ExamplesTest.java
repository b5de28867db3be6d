package dev.zlayer.spec.read;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.spec.RunType;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ExamplesTest {
  static List<Path> examples() {
    return SpecFiles.in(SpecFiles.EXAMPLES);
  }

  @Test
  void thereAreAtLeastSix() {
    assertThat(examples()).hasSizeGreaterThanOrEqualTo(6);
  }

  @ParameterizedTest
  @MethodSource("examples")
  void isValidWithoutRemarks(Path example) {
    assertThat(SpecFiles.valid(SpecFiles.text(example)).remarks()).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("examples")
  void isAcceptedByTheSchema(Path example) {
    assertThat(SpecFiles.schemaErrors(SpecFiles.schema(), SpecFiles.bytes(example))).isEmpty();
  }

  @Test
  void quickstartHasAllThreeKinds() {
    var spec =
        SpecFiles.valid(SpecFiles.text(SpecFiles.EXAMPLES.resolve("quickstart.zlayer.yml"))).spec();
    assertThat(spec.services().values())
        .extracting(service -> service.rtype())
        .containsExactlyInAnyOrder(RunType.SERVICE, RunType.JOB, RunType.CRON);
  }
}
