package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.CommandResult;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.registry.LocalRegistry;
import dev.zlayer.testkit.registry.LocalRegistry.Options;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Images, as Docker's own command line handles them on the agent's socket. */
@Timeout(120)
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.DOCKERD,
  Fact.DOCKER_REGISTRY
})
class DockerImagesIT {
  private static OpenNode node;
  private static DockerCli docker;
  private static LocalRegistry registry;

  @TempDir Path directory;

  @BeforeAll
  static void open(@TempDir Path configuration) throws Exception {
    node = OpenNode.open();
    docker = new DockerCli(node.dockerSocket(), configuration);
    registry = LocalRegistry.start(Options.DEFAULT.withLogin("ann", "secret"));
  }

  @AfterAll
  static void close() throws Exception {
    if (registry != null) {
      registry.close();
    }
    if (node != null) {
      node.close();
    }
  }

  @AfterEach
  void removeContainers() throws Exception {
    for (String id : docker.out("ps", "-aq").lines().toList()) {
      docker.run("rm", "-f", id);
    }
    docker.run("logout", registry.host());
  }

  private static Json inspect(String image) throws Exception {
    return JsonText.parse(docker.out("image", "inspect", image)).items().getFirst();
  }

  @Test
  void imagesArePulledAndPushedWithTheCredentialsOfTheClient() throws Exception {
    registry.push(
        ImageMaker.busybox().layer(TarEntry.file("own", "own")).label("team", "blue").env("A", "b"),
        "team/app:1");
    String image = registry.ref("team/app:1").familiar();
    CommandResult denied = docker.run("pull", image);
    assertThat(denied.code()).isEqualTo(1);
    assertThat(denied.stderr()).contains("pull access denied for").contains("docker login");

    CommandResult wrong = docker.run("login", "-u", "ann", "-p", "guess", registry.host());
    assertThat(wrong.code()).isEqualTo(1);
    assertThat(wrong.stderr()).contains("wrong user name or password");
    assertThat(docker.out("login", "-u", "ann", "-p", "secret", registry.host()))
        .contains("Login Succeeded");
    String pulled = docker.out("pull", image);
    assertThat(pulled)
        .contains("1: Pulling from team/app")
        .contains("Pull complete")
        .contains("Digest: sha256:")
        .contains("Status: Downloaded newer image for " + image);
    assertThat(docker.out("pull", image)).contains("Status: Image is up to date for " + image);
    CommandResult absent = docker.run("pull", registry.ref("team/app:none").familiar());
    assertThat(absent.stderr()).contains("manifest for").contains("not found: manifest unknown");

    Json details = inspect(image);
    assertThat(details.at("RepoTags").strings()).containsExactly(image);
    assertThat(details.at("Config").at("Labels").at("team").string()).contains("blue");
    assertThat(details.at("Config").at("Env").strings()).contains("A=b");
    assertThat(details.at("RootFS").at("Layers").items()).isNotEmpty();
    String id = details.at("Id").string().orElseThrow();
    assertThat(inspect(id.substring(7, 19)).at("Id").string()).contains(id);

    String copy = registry.ref("other/app:2").familiar();
    docker.out("tag", image, copy);
    assertThat(docker.out("push", copy)).contains("2: digest: sha256:");
    assertThat(docker.out("push", copy)).contains("Layer already exists");
    assertThat(docker.out("images", "-q", "--filter", "label=team=blue").lines().distinct())
        .containsExactly(id.substring(7, 19));
    assertThat(docker.out("images", "--filter", "reference=" + registry.host() + "/other/*"))
        .contains("other/app")
        .doesNotContain("team/app");
    assertThat(docker.run("rmi", id).stderr()).contains("must be forced");
    assertThat(docker.out("rmi", copy)).isEqualTo("Untagged: " + copy);
    assertThat(docker.out("rmi", image)).contains("Untagged: " + image, "Deleted: " + id);
    assertThat(docker.run("image", "inspect", image).stderr()).contains("No such image");
  }

  @Test
  void archivesComeAndGo() throws Exception {
    Path archive = directory.resolve("image.tar");
    docker.out("tag", Node.IMAGE, "localhost/saved:1");
    docker.out("save", "-o", archive.toString(), "localhost/saved:1");
    docker.out("rmi", "localhost/saved:1");
    assertThat(docker.out("load", "-i", archive.toString()))
        .contains("Loaded image: localhost/saved:1");
    Files.writeString(archive, "not an archive");
    assertThat(docker.run("load", "-i", archive.toString()).code()).isNotZero();
    assertThat(docker.out("history", "localhost/saved:1")).contains("CREATED BY");

    docker.out("create", "--name", "donor", Node.IMAGE, "true");
    Path root = directory.resolve("root.tar");
    docker.out("export", "-o", root.toString(), "donor");
    String imported =
        docker.out("import", "-c", "CMD [\"echo\", \"hi\"]", root.toString(), "localhost/root:1");
    assertThat(imported).startsWith("sha256:");
    assertThat(docker.out("run", "--rm", "localhost/root:1")).isEqualTo("hi");
    docker.out("rmi", "localhost/saved:1", "localhost/root:1");
  }

  @Test
  void containersBecomeImages() throws Exception {
    docker.out("run", "--name", "donor", Node.IMAGE, "sh", "-c", "echo made > /made");
    String id = docker.out("commit", "-m", "note", "-c", "ENV B=c", "donor", "localhost/made:1");
    assertThat(id).startsWith("sha256:");
    assertThat(docker.out("run", "--rm", "localhost/made:1", "sh", "-c", "cat /made; echo $B"))
        .isEqualTo("made\nc");
    String unnamed = docker.out("commit", "donor");
    assertThat(docker.out("images", "-q", "--no-trunc", "--filter", "dangling=true"))
        .contains(unnamed);
    assertThat(docker.out("image", "prune", "-f")).contains(unnamed);
    assertThat(docker.out("images", "-q", "--filter", "dangling=true")).isEmpty();
    docker.out("run", "-d", "--name", "user", "localhost/made:1", "sleep", "100");
    assertThat(docker.run("rmi", "localhost/made:1").stderr())
        .contains("is using its referenced image");
    docker.out("rm", "-f", "user");
    docker.out("rmi", "localhost/made:1");
  }

  @Test
  void theNodeAndItsDiskAreDescribed() throws Exception {
    assertThat(docker.out("info")).contains("Server Version").contains("Storage Driver: overlay2");
    assertThat(docker.out("system", "df")).contains("Images").contains("Local Volumes");
    assertThat(docker.out("version")).contains("zlayer");
    assertThat(docker.run("search", "x").stderr()).contains("registries are not searched");
  }
}
