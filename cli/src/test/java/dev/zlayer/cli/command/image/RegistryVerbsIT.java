package dev.zlayer.cli.command.image;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.registry.LocalRegistry;
import dev.zlayer.testkit.registry.LocalRegistry.Options;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Push, login and logout against real registries; the daemon's user is not the one who logs in. */
@Timeout(120)
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.DOCKER_REGISTRY,
  Fact.BUSYBOX
})
class RegistryVerbsIT {
  @TempDir static Path directory;
  private static DaemonFixture daemon;
  private static CliFixture cli;

  @BeforeAll
  static void startADaemon() {
    daemon = DaemonFixture.start(directory).withBusybox("localhost/app:1");
    cli = daemon.cli();
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  @AfterEach
  void forgetCredentials() throws Exception {
    Files.deleteIfExists(config());
  }

  private static Path config() {
    return directory.resolve(".docker/config.json");
  }

  private static CliFixture.Result login(LocalRegistry registry, String password, String... more) {
    var words = new java.util.ArrayList<>(java.util.List.of("login", registry.host(), "-u", "ann"));
    words.addAll(java.util.List.of(more));
    words.add("--password-stdin");
    return cli.runWithInput(
        (password + "\n").getBytes(StandardCharsets.UTF_8), words.toArray(String[]::new));
  }

  @Test
  void anImageIsPushedAndPulledAgain() {
    try (var registry = LocalRegistry.start()) {
      String image = registry.ref("team/app:2").familiar();
      daemon.ok("image", "tag", "localhost/app:1", image);
      CliFixture.Result first = cli.run("push", image);
      assertThat(first.code()).as(first.err()).isZero();
      assertThat(first.err()).contains(": pushed, ");
      assertThat(first.out()).startsWith(image + " sha256:");
      CliFixture.Result again = cli.run("push", image);
      assertThat(again.err()).contains(": already exists").doesNotContain("pushed");
      Json json = daemon.json("push", "--json", image);
      assertThat(first.out()).contains(json.at("digest").string().orElseThrow());
      assertThat(daemon.ok("push", "-q", image).strip())
          .isEqualTo(json.at("digest").string().orElseThrow());

      daemon.ok("image", "rm", image);
      assertThat(daemon.ok("pull", image)).contains(json.at("digest").string().orElseThrow());
      daemon.ok("image", "rm", image);
    }
  }

  @Test
  void credentialsAreCheckedKeptUsedAndRemoved() throws Exception {
    try (var closed = LocalRegistry.start(Options.DEFAULT.withLogin("ann", "secret"))) {
      String image = closed.ref("app:1").familiar();
      daemon.ok("image", "tag", "localhost/app:1", image);
      CliFixture.Result denied = cli.run("push", image);
      assertThat(denied.code()).isEqualTo(4);
      assertThat(denied.err()).contains("none are configured");

      CliFixture.Result wrong = login(closed, "guess");
      assertThat(wrong.code()).isEqualTo(2);
      assertThat(wrong.err()).contains("wrong user name or password").doesNotContain("guess");
      assertThat(config()).doesNotExist();

      CliFixture.Result right = login(closed, "secret");
      assertThat(right.code()).as(right.err()).isZero();
      assertThat(right.err()).isEmpty();
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(config())))
          .isEqualTo("rw-------");
      assertThat(daemon.ok("push", image)).contains("sha256:");
      daemon.ok("image", "rm", image);
      daemon.ok("pull", image);
      daemon.ok("image", "rm", image);
      daemon.ok("run", "--rm", image, "true"); // pulls as well

      assertThat(daemon.ok("logout", closed.host())).contains("removed the credentials");
      assertThat(daemon.ok("logout", closed.host())).contains("there are no credentials");
      assertThat(cli.run("pull", image).err()).contains("none are configured");
      daemon.ok("image", "rm", image);
    }
  }

  @Test
  @Requires(Fact.BUILDAH)
  void anImageIsBuiltFromADockerfile() throws Exception {
    Path context = Files.createDirectories(directory.resolve("context"));
    Files.writeString(
        context.resolve("Dockerfile"),
        "FROM localhost/app:1\nARG W=no\nRUN echo $W > /word\nCMD [\"cat\", \"/word\"]\n");
    CliFixture.Result built =
        cli.run("build", "-t", "localhost/built:1", "--build-arg", "W=yes", context.toString());
    assertThat(built.code()).as(built.err()).isZero();
    assertThat(built.out()).startsWith("sha256:");
    assertThat(built.err()).contains("STEP ");
    assertThat(daemon.ok("run", "--rm", "localhost/built:1")).isEqualTo("yes\n");
    Files.writeString(context.resolve("Dockerfile"), "FROM localhost/app:1\nRUN exit 4\n");
    CliFixture.Result failed = cli.run("build", context.toString());
    assertThat(failed.code()).isEqualTo(2);
    assertThat(failed.err()).contains("returned a non-zero code: 4");
    assertThat(cli.run("build", "nowhere").err()).contains("'nowhere'");
  }

  @Test
  void aPasswordOnTheCommandLineIsWarnedAbout() throws Exception {
    try (var closed = LocalRegistry.start(Options.DEFAULT.withLogin("ann", "secret"))) {
      CliFixture.Result result = cli.run("login", "-u", "ann", "-p", "secret", closed.host());
      assertThat(result.code()).as(result.err()).isZero();
      assertThat(result.err()).contains("warning").contains("--password-stdin");
      assertThat(JsonText.parse(Files.readString(config())).at("auths").members())
          .containsOnlyKeys(closed.host());
    }
    CliFixture.Result nobody = cli.run("login", "-u", "ann", "127.0.0.1:1");
    assertThat(nobody.code()).isEqualTo(2);
    assertThat(nobody.err()).contains("--password-stdin");
    assertThat(cli.run("login", "-u", "ann", "-p", "x", "127.0.0.1:1").code()).isEqualTo(4);
  }
}
