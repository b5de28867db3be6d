package dev.zlayer.daemon.build;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DockerfileFlagsTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "FROM a\nRUN --mount=type=bind,src=x,target=/x true",
        "FROM a\n  run\t--mo\"un\"t=type=cache,target=/x true",
        "FROM a\nRUN --network=host true",
        "\uFEFFRUN --mount=x true",
        "RUN \u00a0--mount=x true",
        "RUN\r--mount=x true\r\n",
        "RUN \\\n  --mount=x true",
        "RU\\\nN --mo\\\nunt=x true",
        "RUN \\  \n\n# a comment\n  # another one\n--mount=x true",
        "# escape=`\nRUN `\n--mount=x true",
        "RUN echo `date`\nRUN \\\n--mount=x true",
        "RUN echo \\\n  # for some builders the end\nRUN \\\n--mount=x true",
        "RUN echo \\\n\nRUN \\\n--mount=x true",
        "RUN echo \\\u00a0\nRUN \\\n--mount=x true",
        "RUN <<\"E\\\"\nE\\\nRUN --mount=x true",
        "ONBUILD RUN --mount=x true",
        "onbuild \\\n run \\\n --mount=x true",
        "ONBUILD --a RUN --mount=x true",
      })
  void flagsAreRefusedHoweverTheyAreWritten(String dockerfile) {
    assertThatThrownBy(() -> DockerfileFlags.refuse(dockerfile))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("RUN takes no flags such as --mount here");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "FROM --platform=linux/amd64 a AS b\nCOPY --from=b --chown=1 /x /y\nADD --chmod=1 x y",
        "RUN unshare --mount true && echo RUN --mount=x",
        "RUN apt-get install \\\n  --no-install-recommends \\\n  x",
        "# RUN --mount=x true\n  # RUN --mount=x true\nRUN true",
        "RUN [\"--mount=x\"]\nRUN -x\nRUNNER --mount=x\nRUN\n",
        "HEALTHCHECK --interval=1s CMD true\nCMD --mount=x\nENTRYPOINT --mount=x",
        "",
      })
  void everythingElseIsNot(String dockerfile) {
    assertThatCode(() -> DockerfileFlags.refuse(dockerfile)).doesNotThrowAnyException();
  }

  /** A megabyte of whatever is read in time that grows with its length alone. */
  @ParameterizedTest
  @ValueSource(
      strings = {"ONBUILD ", "RUN \\\n", "\\\n", "#\n", "COPY --mount=--mount=", " ", "`\n"})
  void longTextsAreReadOnce(String part) {
    String text = part.repeat((1 << 20) / part.length());
    Assertions.assertTimeoutPreemptively(
        Duration.ofSeconds(10),
        () -> {
          DockerfileFlags.refuse(text);
          BaseImages.of(text, Map.of());
        });
  }
}
