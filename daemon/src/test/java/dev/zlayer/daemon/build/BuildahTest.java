package dev.zlayer.daemon.build;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class BuildahTest {
  private static List<String> lines(String text) throws IOException {
    var reader = new StringReader(text);
    var lines = new ArrayList<String>();
    for (Optional<String> line = Buildah.line(reader);
        line.isPresent();
        line = Buildah.line(reader)) {
      lines.add(line.get());
    }
    return lines;
  }

  @Test
  void commandsHaveTheProfileOfContainersWhereItIsLoaded() {
    assertThat(Buildah.confinement("zlayer-default"::equals))
        .containsExactly("--security-opt=apparmor=zlayer-default");
    assertThat(Buildah.confinement(_ -> false)).isEmpty();
  }

  @Test
  void outputWithoutLinesIsCutIntoSome() throws IOException {
    assertThat(lines("one\r\n\ntwo")).containsExactly("one", "", "two");
    String part = "x".repeat(Buildah.LONGEST_LINE);
    assertThat(lines(part + part + "y\nz\n")).containsExactly(part, part, "y", "z");
  }

  @Test
  void theStatusOfACommandIsFoundInWhatTheBuilderSays() {
    ImageBuilder.StepFailed failed =
        ImageBuilder.failed(
            125, "exit status 9\nError: building at STEP \"RUN a\": while running: exit status 3");
    assertThat(failed.code()).isEqualTo(3);
    assertThat(failed).hasMessage("The command '/bin/sh -c a' returned a non-zero code: 3");
    assertThat(ImageBuilder.failed(125, "exit status 9\nError: building at STEP \"RUN a\": x"))
        .hasMessage("building at STEP \"RUN a\": x");
  }
}
