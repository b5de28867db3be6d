package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.CommandResult;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Dockerfiles and contexts that want something of the host. */
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
class HostileBuildIT {
  private static final String FROM = "FROM " + Node.IMAGE + "\n";
  private static final String SECRET = "a secret of the host";

  @RegisterExtension static final DockerNode node = new DockerNode();
  private static final DockerCli docker = node.docker();

  @TempDir Path context;
  @TempDir Path outside;

  @BeforeEach
  void write() throws IOException {
    Files.writeString(outside.resolve("secret"), SECRET + "\n");
  }

  private CommandResult build(String dockerfile, String... options) throws Exception {
    return buildOf("Dockerfile", dockerfile, options);
  }

  private CommandResult buildOf(String name, String dockerfile, String... options)
      throws Exception {
    Path file = Files.writeString(context.resolve(name), dockerfile);
    var words = new ArrayList<>(List.of("build", "-f", file.toString()));
    words.addAll(List.of(options));
    words.add(context.toString());
    return docker.run(words.toArray(String[]::new));
  }

  private void assertKept(CommandResult build) throws IOException {
    assertThat(build.code()).as(build.stdout()).isNotZero();
    assertThat(build.stdout() + build.stderr()).doesNotContain(SECRET);
    assertThat(outside.resolve("secret")).hasContent(SECRET);
    try (var files = Files.list(outside)) {
      assertThat(files).hasSize(1);
    }
  }

  /** buildah 1.28 follows each of these to the host. */
  @Test
  void mountsOfCommandsDoNotReachTheHost() throws Exception {
    Files.createSymbolicLink(context.resolve("link"), outside);
    String up = "../../../../../../../../../..";
    String work = " sh -c 'cat /x/secret; touch /x/made /x" + outside + "/made; true'\n";
    for (String mount :
        List.of(
            "type=bind,src=link,target=/x,rw",
            "type=bind,from=base,src=/link,target=/x,rw",
            "type=cache,id=" + up + outside + ",target=/x")) {
      assertKept(
          build(
              "FROM "
                  + Node.IMAGE
                  + " AS base\nRUN ln -s / /link\n"
                  + FROM
                  + "RUN --mount="
                  + mount
                  + work));
    }
    byte[] base =
        ImageMaker.busybox()
            .onBuild("RUN --mount=type=bind,src=link,target=/x,rw" + work)
            .make()
            .ociArchive("localhost/triggers:1");
    node.node().rest().postBytes("/images/load", base).expect(200);
    CommandResult triggered = build("FROM localhost/triggers:1\n");
    assertKept(triggered);
    assertThat(triggered.stderr()).contains("RUN takes no flags");
  }

  @Test
  void namesOfFilesDoNotReachTheHost() throws Exception {
    assertKept(buildOf("Dockerfile.in", FROM + "#include \"" + outside + "/secret\"\nNONSENSE\n"));
    Files.createSymbolicLink(context.resolve("link"), outside.resolve("secret"));
    assertKept(build(FROM + "COPY link /x\nRUN cat /x\n"));
    assertKept(build(FROM + "ADD file://" + outside + "/secret /x\nRUN cat /x\n"));
    Files.createSymbolicLink(context.resolve(".containerignore"), outside.resolve("secret"));
    CommandResult ignored = build(FROM + "RUN true\n");
    assertThat(ignored.code()).as(ignored.stdout() + ignored.stderr()).isZero();
  }

  /** Of its own storage alone it takes images. */
  @Test
  void imagesOnTheHostAreNotRead(@TempDir Path directory) throws Exception {
    Path archive = directory.resolve("image.tar");
    docker.out("save", "-o", archive.toString(), Node.IMAGE);
    for (String transport : List.of("docker-archive:", "oci-archive:")) {
      CommandResult read = build("FROM " + transport + archive + "\nRUN echo it runs\n");
      assertThat(read.code()).as(read.stdout()).isNotZero();
      assertThat(read.stdout()).doesNotContain("it runs\n");
    }
    CommandResult copied = build(FROM + "COPY --from=docker-archive:" + archive + " /bin /x\n");
    assertThat(copied.code()).as(copied.stdout()).isNotZero();
  }

  /** What a container on the default network may: unlike with buildah's own profile. */
  @Test
  void commandsHaveWhatContainersHave() throws Exception {
    try (var server = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      String reach =
          "nc -w 2 127.0.0.1 %d -e true && echo reached".formatted(server.getLocalPort());
      CommandResult built =
          build(
              FROM
                  + "RUN grep Seccomp: /proc/self/status; unshare -U true || echo denied\n"
                  + "RUN "
                  + reach
                  + " || ip -o address show\n"
                  + "RUN grep -c @ /proc/net/unix || true\n");
      assertThat(built.code()).as(built.stdout() + built.stderr()).isZero();
      assertThat(built.stdout())
          .contains("Seccomp:\t2\n")
          .contains("\ndenied\n")
          .contains("eth0")
          .contains("\n0\n")
          .doesNotContain("\nreached\n");
      assertThat(docker.out("network", "inspect", "-f", "{{len .Containers}}", "bridge"))
          .as("nothing of the build is left there")
          .isEqualTo("0");
      CommandResult none = build(FROM + "RUN ip -o address show\n", "--network", "none");
      assertThat(none.stdout()).contains("127.0.0.1").doesNotContain("eth0");
      CommandResult host = build(FROM + "RUN " + reach + "\n", "--network", "host");
      assertThat(host.stdout()).contains("\nreached\n");
    }
  }
}
