package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.CommandResult;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Builds by Docker's own command line, in the classic way. */
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
  @RegisterExtension static final DockerNode node = new DockerNode();
  private static final DockerCli docker = node.docker();

  @TempDir Path context;

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
    try (var left = Files.list(node.node().directories().builds())) {
      assertThat(left).isEmpty();
    }
  }

  /** Formats of images differ in what they can say; none of it may be lost. */
  @Test
  void anImageSaysWhoMadeItHowItIsCheckedAndWhatOthersRun() throws Exception {
    CommandResult built =
        build(
            """
            FROM %s
            MAINTAINER Ann "ann@example.org"
            HEALTHCHECK --interval=7s CMD test -e /ready
            ONBUILD RUN echo triggered
            """
                .formatted(Node.IMAGE),
            "-t",
            "localhost/parent:1");
    assertThat(built.code()).as(built.stdout() + built.stderr()).isZero();
    Json parent =
        JsonText.parse(docker.out("image", "inspect", "localhost/parent:1")).items().getFirst();
    assertThat(parent.at("Author").string()).contains("Ann \"ann@example.org\"");
    assertThat(parent.at("Config").at("Healthcheck").at("Test").strings())
        .containsExactly("CMD-SHELL", "test -e /ready");
    assertThat(build("FROM localhost/parent:1\n", "-t", "localhost/child:1").stdout())
        .contains("triggered");
  }

  /** Docker's command line reads the file of ignored names, too; other clients do not. */
  @Test
  void optionsReachTheBuilder() throws Exception {
    Files.writeString(context.resolve(".dockerignore"), " secret \n# a comment\n! secret/kept  \n");
    Files.createDirectory(context.resolve("secret"));
    Files.writeString(context.resolve("secret/kept"), "");
    Files.writeString(context.resolve("secret/other"), "");
    CommandResult built =
        build(
            """
            FROM %s
            RUN df -k /dev/shm | tail -n 1 && cat /etc/hosts && ulimit -n
            COPY . /context
            RUN find /context/secret -type f
            """
                .formatted(Node.IMAGE),
            "--shm-size",
            "32m",
            "--ulimit",
            "nofile=512:512",
            "--add-host",
            "one.test:127.0.0.2",
            "--add-host",
            "two.test:127.0.0.3",
            "--memory",
            "256m",
            "--cpu-shares",
            "100",
            "--cache-from",
            "nothing:1",
            "--label",
            "only=this",
            "-t",
            "localhost/options:1");
    assertThat(built.code()).as(built.stdout() + built.stderr()).isZero();
    assertThat(built.stdout())
        .contains("32768")
        .contains("127.0.0.2\tone.test")
        .contains("127.0.0.3\ttwo.test")
        .contains("\n512\n")
        .contains("/context/secret/kept")
        .doesNotContain("/context/secret/other");
    assertThat(
            docker.out("image", "inspect", "-f", "{{json .Config.Labels}}", "localhost/options:1"))
        .isEqualTo("{\"only\":\"this\"}");
  }

  /** A command line that insists on BuildKit is given the way out. */
  @Test
  void theCommandLineShowsWhatToSetInsteadOfBuildKit() throws Exception {
    Files.writeString(context.resolve("Dockerfile"), "FROM " + Node.IMAGE + "\n");
    CommandResult refused = docker.buildKit("build", context.toString());
    assertThat(refused.code()).isEqualTo(1);
    assertThat(refused.stderr()).contains("DOCKER_BUILDKIT=0");
  }

  /** As buildx asks: it takes the engine for one with BuildKit and shows what that answers. */
  @Test
  void callsOfBuildKitAreRefusedWithWhatToSet() throws Exception {
    try (DockerWire.Raw raw = node.wire().raw()) {
      raw.send("POST /grpc HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
      assertThat(raw.head()).startsWith("HTTP/1.1 101").contains("Upgrade: h2c");
      raw.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      raw.send(new byte[] {0, 0, 0, 4, 0, 0, 0, 0, 0}); // settings
      raw.send(new byte[] {0, 0, 1, 1, 5, 0, 0, 0, 1, (byte) 0x83}); // a call
      assertThat(new String(raw.end().rest(), StandardCharsets.ISO_8859_1))
          .contains("application/grpc")
          .contains("BuildKit is not part of this engine: set DOCKER_BUILDKIT=0");
    }
  }

  /** Without the connection that BuildKit needs there is nothing but an answer. */
  @Test
  void buildKitIsRefusedWithWhatToSet() throws Exception {
    for (String path : java.util.List.of("/session", "/grpc")) {
      assertThat(node.wire().post(path, "").expect(501).message()).contains("DOCKER_BUILDKIT=0");
    }
    assertThat(node.wire().post("/build?version=2", "").expect(400).message())
        .contains("DOCKER_BUILDKIT=0");
  }

  @Test
  void failuresAreWordedAsDockerWordsThem() throws Exception {
    CommandResult failed = build("FROM " + Node.IMAGE + "\nRUN echo before && exit 3\n");
    assertThat(failed.code()).isEqualTo(3);
    assertThat(failed.stdout()).contains("before");
    assertThat(failed.stderr()).contains("returned a non-zero code: 3");
    assertThat(build("FROM " + Node.IMAGE + "\nNONSENSE\n").code()).isNotZero();
    assertThat(build("FROM 127.0.0.1:1/none:1\n").stderr()).contains("127.0.0.1:1");
    assertThat(build("FROM scratch\n", "--security-opt", "seccomp=unconfined").stderr())
        .contains("securityopt is not supported");
  }
}
