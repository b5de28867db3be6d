package dev.zlayer.daemon.build;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.oci.ImageRef;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class BaseImagesTest {
  private static List<String> of(String dockerfile, Map<String, String> arguments) {
    return BaseImages.of(dockerfile, arguments).stream().map(ImageRef::familiar).toList();
  }

  @Test
  void stagesAndScratchAreNoImages() {
    String file =
        """
        # FROM comment
        FROM --platform=linux/amd64 golang:1 AS Build
        RUN echo \\
          FROM nothing
        from scratch
        COPY --from=build /a /b
        COPY --from=0 /a /b
        COPY --from=tools:2 /a /b
        FROM build
        """;
    assertThat(of(file, Map.of())).containsExactly("golang:1", "tools:2");
  }

  @Test
  void argumentsBeforeTheFirstStageAreExpanded() {
    String file =
        """
        ARG BASE="alpine"
        ARG TAG
        FROM ${BASE}:${TAG:-3}
        FROM $BASE
        """;
    assertThat(of(file, Map.of())).containsExactly("alpine:3", "alpine:latest");
    assertThat(of(file, Map.of("BASE", "debian", "TAG", "12")))
        .containsExactly("debian:12", "debian:latest");
    assertThat(of("FROM $UNKNOWN\nFROM UPPER/case\n", Map.of())).isEmpty();
  }
}
