package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.CommandResult;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Builds by Docker's own command line, in the classic way. */
@Timeout(120)
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.DOCKERD,
  Fact.BUILDAH
})
class DockerBuildIT {
  private static OpenNode node;
  private static DockerCli docker;

  @TempDir Path context;

  @BeforeAll
  static void open(@TempDir Path configuration) throws Exception {
    node = OpenNode.open();
    docker = new DockerCli(node.dockerSocket(), configuration);
  }

  @AfterAll
  static void close() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  private CommandResult build(String dockerfile, String... options) throws Exception {
    Files.writeString(context.resolve("Dockerfile"), dockerfile);
    var words = new java.util.ArrayList<>(java.util.List.of("build"));
    words.addAll(java.util.List.of(options));
    words.add(context.toString());
    return docker.run(words.toArray(String[]::new));
  }

  @Test
  void severalStagesBecomeAnImageInTheStore() throws Exception {
    Files.writeString(context.resolve("file"), "content\n");
    CommandResult built =
        build(
            """
            ARG BASE=%s
            FROM $BASE AS first
            ARG WORD=none
            COPY file /file
            RUN echo "$WORD" > /word && echo running
            FROM $BASE
            COPY --from=first /file /word /made/
            LABEL team=blue
            CMD ["cat", "/made/file", "/made/word"]
            """
                .formatted(Node.IMAGE),
            "-t",
            "localhost/built:1",
            "-t",
            "localhost/built:2",
            "--build-arg",
            "WORD=given",
            "--label",
            "more=red");
    assertThat(built.code()).as(built.stdout() + built.stderr()).isZero();
    assertThat(built.stdout())
        .contains("Step 1/")
        .contains("running")
        .contains("Successfully built ")
        .contains("Successfully tagged localhost/built:1");
    assertThat(docker.out("run", "--rm", "localhost/built:2")).isEqualTo("content\ngiven");
    Json labels =
        JsonText.parse(docker.out("image", "inspect", "localhost/built:1"))
            .items()
            .getFirst()
            .at("Config")
            .at("Labels");
    assertThat(labels.stringMap()).containsEntry("team", "blue").containsEntry("more", "red");
    assertThat(docker.out("images", "-q", "localhost/built:1"))
        .isEqualTo(docker.out("images", "-q", "localhost/built:2"));
    String quiet = build("FROM " + Node.IMAGE + "\nENV A=b\n", "-q").stdout().strip();
    assertThat(quiet).startsWith("sha256:");
    assertThat(docker.out("run", "--rm", quiet, "sh", "-c", "echo $A")).isEqualTo("b");
    try (var left = Files.list(node.directories().builds())) {
      assertThat(left).isEmpty();
    }
  }

  @Test
  void failuresAreWordedAsDockerWordsThem() throws Exception {
    CommandResult failed = build("FROM " + Node.IMAGE + "\nRUN echo before && exit 3\n");
    assertThat(failed.code()).isEqualTo(3);
    assertThat(failed.stdout()).contains("before");
    assertThat(failed.stderr()).contains("returned a non-zero code: 3");
    assertThat(build("FROM " + Node.IMAGE + "\nNONSENSE\n").code()).isNotZero();
    assertThat(build("FROM 127.0.0.1:1/none:1\n").stderr()).contains("127.0.0.1:1");
    assertThat(build("FROM scratch\n", "--memory", "100m").stderr())
        .contains("memory is not supported");
    assertThat(build("FROM scratch\n", "--squash").stderr()).containsIgnoringCase("squash");
  }
}
