package dev.zlayer.spec.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class SpecReferenceTest {
  private static final Path COMMITTED = Path.of("../docs/spec.md");

  @Test
  void committedReferenceIsUpToDate() throws IOException {
    String generated = SpecReference.markdown();
    if (Boolean.getBoolean("regenerate")) {
      java.nio.file.Files.createDirectories(COMMITTED.getParent());
      java.nio.file.Files.writeString(COMMITTED, generated);
    }
    assertThat(SpecFiles.text(COMMITTED))
        .as(
            "docs/spec.md is out of date, run:"
                + " mvn -B -pl core test -Dtest=SpecReferenceTest -Dregenerate=true")
        .isEqualTo(generated);
  }

  @Test
  void marksWhatIsNotActedOn() {
    assertThat(SpecReference.markdown().lines())
        .anyMatch(line -> line.startsWith("| `externals`") && line.endsWith("*Not acted on.* |"))
        .noneMatch(line -> line.startsWith("| `services`") && line.contains("Not acted on"));
  }
}
