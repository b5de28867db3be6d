package dev.zlayer.cli.command.image;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.Compression;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import dev.zlayer.testkit.registry.LocalRegistry;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Images as a person handles them: every verb, against a real registry and real tools. */
@Timeout(180)
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.DOCKER_REGISTRY,
  Fact.BUSYBOX
})
class ImageVerbsIT {
  @TempDir static Path directory;
  private static DaemonFixture daemon;
  private static CliFixture cli;

  @BeforeAll
  static void startADaemon() {
    daemon = DaemonFixture.start(directory);
    cli = daemon.cli();
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  @AfterEach
  void removeImages() {
    ok("image", "prune", "--all");
  }

  private static ImageMaker app() {
    return ImageMaker.busybox()
        .entrypoint("/bin/httpd")
        .env("GREETING", "hi")
        .label("team", "blue");
  }

  private String ok(String... arguments) {
    return daemon.ok(arguments);
  }

  /** Zstd makes them far smaller than gzip could, which was taken for an attack. */
  @Test
  @Requires(Fact.ZSTD)
  void anImageWhoseLayerIsZerosInZstdIsLoadedAndRun() {
    var zeros = TarEntry.file("zeros", new byte[48 << 20]);
    byte[] archive =
        ImageMaker.busybox().layer(Compression.ZSTD, List.of(zeros)).make().ociArchive("zeros:1");
    assertThat(archive.length).as("packed").isLessThan(8 << 20);
    CliFixture.Result loaded = cli.runWithInput(archive, "image", "load");
    assertThat(loaded.code()).as(loaded.err()).isZero();
    assertThat(ok("run", "--rm", "--network", "none", "zeros:1", "stat", "-c", "%s", "/zeros"))
        .isEqualTo((48 << 20) + "\n");
  }

  private static CommandResult tool(String... arguments) throws InterruptedException {
    return Processes.run(Command.of(arguments), Deadline.after(Duration.ofSeconds(60)));
  }

  @Test
  void anImageLivesThroughAllVerbs() throws Exception {
    try (var registry = LocalRegistry.start()) {
      registry.push(app(), "team/app:1");
      String image = registry.ref("team/app:1").familiar();

      CliFixture.Result pulled = cli.run("pull", image);
      assertThat(pulled.code()).as(pulled.err()).isZero();
      assertThat(pulled.err()).contains("pulling " + image).contains("done, ");
      assertThat(pulled.out()).contains(image).contains("sha256:").contains("linux/amd64");

      assertThat(ok("image", "ls")).contains("IMAGE").contains(image).contains("linux/amd64");
      Json listed = JsonText.parse(ok("image", "ls", "--json")).items().getFirst();
      assertThat(listed.at("references").strings()).containsExactly(image);

      Json inspected = JsonText.parse(ok("image", "inspect", image));
      assertThat(inspected.at("entrypoint").strings()).containsExactly("/bin/httpd");
      assertThat(inspected.at("env").strings()).contains("GREETING=hi");
      assertThat(inspected.at("labels").at("team").string()).contains("blue");
      assertThat(inspected.at("digest")).isEqualTo(listed.at("digest"));
      assertThat(ok("image", "history", image)).contains("CREATED BY");

      ok("image", "tag", image, "app:copy");
      assertThat(ok("image", "rm", image)).contains("untagged").doesNotContain("deleted");
      assertThat(ok("image", "fsck")).contains("sound");
      assertThat(ok("image", "rm", "app:copy")).contains("deleted");
      assertThat(JsonText.parse(ok("image", "ls", "--json")).items()).isEmpty();
      assertThat(ok("image", "prune")).contains("reclaimed");
      assertThat(ok("image", "fsck")).contains("0 images, 0 blobs").contains("sound");
    }
  }

  @Test
  @Requires(Fact.SKOPEO)
  void archivesGoToAndComeFromOtherTools() throws Exception {
    try (var registry = LocalRegistry.start()) {
      registry.push(app(), "app:1");
      String image = registry.ref("app:1").familiar();
      ok("pull", "--quiet", image);

      ok("image", "save", "-o", "app.tar", image);
      String archive = directory.resolve("app.tar").toString();
      for (String kind : List.of("oci-archive:", "docker-archive:")) {
        CommandResult inspected = tool("skopeo", "inspect", kind + archive);
        assertThat(inspected.code()).as(kind + inspected.stderr()).isZero();
        assertThat(JsonText.parse(inspected.stdout()).at("Labels").at("team").string())
            .contains("blue");
      }

      for (String kind : List.of("docker-archive:", "oci-archive:")) {
        Path made = directory.resolve("made.tar");
        Files.deleteIfExists(made);
        CommandResult copied =
            tool(
                "skopeo",
                "copy",
                "--insecure-policy",
                "--src-tls-verify=false",
                "docker://" + image,
                kind + made + ":localhost/from-skopeo:1");
        assertThat(copied.code()).as(copied.stderr()).isZero();
        assertThat(ok("image", "load", "-i", "made.tar")).contains("loaded");
        assertThat(ok("image", "ls")).contains("from-skopeo:1");
        ok("image", "rm", "localhost/from-skopeo:1");
      }
      assertThat(ok("image", "fsck")).contains("sound");
    }
  }

  @Test
  void aRootFileSystemBecomesAnImage() {
    byte[] tar = TarWriter.archive(List.of(TarEntry.file("etc/hello", "world")));

    CliFixture.Result result = cli.runWithInput(tar, "image", "import", "-", "base:1");

    assertThat(result.code()).as(result.err()).isZero();
    assertThat(ok("image", "inspect", "base:1")).contains("\"layers\"");
    assertThat(ok("image", "fsck")).contains("1 images").contains("sound");
  }

  @Test
  void wrongCredentialsNameTheRegistryAndTheUser() throws Exception {
    try (var registry =
        LocalRegistry.start(LocalRegistry.Options.DEFAULT.withLogin("ci", "right"))) {
      registry.push(app(), "app:1");
      String image = registry.ref("app:1").familiar();

      CliFixture.Result wrong =
          cli.runWithInput(
              "wrong\n".getBytes(StandardCharsets.UTF_8),
              "pull",
              "--user",
              "ci",
              "--password-stdin",
              image);
      assertThat(wrong.code()).isEqualTo(4);
      assertThat(wrong.err()).contains(registry.host()).contains("'ci'");

      CliFixture.Result nobody = cli.run("pull", image);
      assertThat(nobody.code()).isEqualTo(4);
      assertThat(nobody.err()).contains(registry.host());

      CliFixture.Result right =
          cli.runWithInput(
              "right\n".getBytes(StandardCharsets.UTF_8),
              "pull",
              "--user",
              "ci",
              "--password-stdin",
              image);
      assertThat(right.code()).as(right.err()).isZero();
      assertThat(cli.run("pull", "--user", "ci", image).code()).isEqualTo(2);
    }
  }

  @Test
  void whatIsAbsentOrUnreachableIsSaid() throws Exception {
    try (var registry = LocalRegistry.start()) {
      String absent = registry.ref("none:1").familiar();
      assertThat(cli.run("pull", absent).code()).isEqualTo(4);
      assertThat(cli.run("pull", absent).err()).contains("none");
    }
    CliFixture.Result refused = cli.run("pull", "127.0.0.1:1/app:1");
    assertThat(refused.code()).isEqualTo(4);
    assertThat(refused.err())
        .contains("127.0.0.1:1")
        .containsOnlyOnce("connection refused")
        .doesNotContain("wasm");

    CliFixture.Result never = cli.run("pull", "--policy", "never", "app:1");
    assertThat(never.code()).isEqualTo(2);
    assertThat(never.err()).contains("app:1");

    CliFixture.Result inspected = cli.run("image", "inspect", "app:1");
    assertThat(inspected.code()).isEqualTo(2);
    assertThat(inspected.err()).contains("zlayer pull app:1");

    assertThat(cli.run("image", "rm", "app:1").code()).isEqualTo(2);
    assertThat(cli.run("image", "load", "-i", "none.tar").err()).contains("none.tar");
    assertThat(cli.run("pull", "Not/Valid").code()).isEqualTo(2);
    assertThat(cli.run("image").err()).contains("ls, ");
  }

  @Test
  void aDamagedImageIsCalledDamagedUntilItIsRepaired() throws Exception {
    try (var registry = LocalRegistry.start()) {
      registry.push(app(), "app:1");
      String image = registry.ref("app:1").familiar();
      ok("pull", "--quiet", image);
      Json layer = JsonText.parse(ok("image", "inspect", image)).at("layers").items().getFirst();
      String hex = layer.at("digest").string().orElseThrow().substring("sha256:".length());
      try (var files = Files.walk(directory.resolve("data"))) {
        for (Path file : files.filter(path -> path.endsWith(Path.of("sha256", hex))).toList()) {
          Files.delete(file);
        }
      }

      CliFixture.Result saved = cli.run("image", "save", "-o", "damaged.tar", image);
      assertThat(saved.code()).isNotZero();
      assertThat(saved.err())
          .contains(
              "'%s' is damaged: blob sha256:%s is missing; run 'zlayer image fsck --repair'"
                  .formatted(image, hex))
          .doesNotContain("Exception")
          .doesNotContain("\tat ");

      cli.run("image", "fsck", "--repair");
      assertThat(ok("image", "fsck")).contains("sound");
      ok("pull", "--quiet", image);
      ok("image", "save", "-o", "whole.tar", image);
    }
  }

  @Test
  void aDamagedStoreIsFoundAndRepaired() throws Exception {
    try (var registry = LocalRegistry.start()) {
      registry.push(app(), "app:1");
      String image = registry.ref("app:1").familiar();
      ok("pull", "--quiet", image);
      String config =
          JsonText.parse(ok("image", "inspect", image)).at("config").string().orElseThrow();
      Path blob;
      try (var files = Files.walk(directory.resolve("data"))) {
        blob =
            files
                .filter(file -> file.getFileName().toString().endsWith(config.substring(7)))
                .findFirst()
                .orElseThrow();
      }
      blob.toFile().setWritable(true);
      Files.writeString(blob, "{}");

      CliFixture.Result found = cli.run("image", "fsck");
      assertThat(found.code()).isEqualTo(1);
      assertThat(found.out()).contains("damage:").contains(config).contains("--repair");

      ok("image", "fsck", "--repair");
      assertThat(ok("image", "fsck")).contains("sound");
      ok("pull", image);
      assertThat(ok("image", "fsck")).contains("1 images").contains("sound");
    }
  }

  @Test
  void twoDaemonsDoNotShareADirectory() throws Exception {
    Path other = directory.resolve("other.sock");
    CliFixture.Result second = cli.run("daemon", "start", "--socket", other.toString());

    assertThat(second.code()).isEqualTo(1);
    assertThat(second.err())
        .contains("in use by process " + daemon.json("info", "--json").at("pid").integer().get());
  }
}
