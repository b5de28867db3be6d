package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.registry.LocalRegistry;
import dev.zlayer.testkit.registry.LocalRegistry.Options;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Images, as Docker's own command line handles them on the agent's socket. */
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
  @RegisterExtension static final DockerNode node = new DockerNode();
  private static final DockerCli docker = node.docker();
  private static LocalRegistry registry;

  @TempDir Path directory;

  @BeforeAll
  static void startRegistry() {
    registry = LocalRegistry.start(Options.DEFAULT.withLogin("ann", "secret"));
  }

  @AfterAll
  static void closeRegistry() {
    if (registry != null) {
      registry.close();
    }
  }

  @AfterEach
  void logOut() throws Exception {
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

  /** Plain HTTP is allowed on this machine, so a certificate need not be trusted either. */
  @Test
  void aRegistryOfThisMachineMaySpeakTlsWithAnyCertificate() throws Exception {
    try (var secure = LocalRegistry.start(Options.DEFAULT.withTls("other.test"))) {
      String image = secure.host() + "/team/app:1";
      docker.out("tag", Node.IMAGE, image);
      assertThat(docker.out("push", image)).contains("1: digest: sha256:");
      docker.out("rmi", image);
      assertThat(docker.out("pull", image)).contains("Status: Downloaded newer image");
      docker.out("rmi", image);
    }
  }

  @Test
  void anImageThatIsAbsentIsAFailureOfThePushThatHasBegun() throws Exception {
    assertThat(node.wire().post("/images/localhost/absent/push", "").expect(200).text())
        .contains("The push refers to repository [localhost/absent]")
        .contains("\"error\":\"An image does not exist locally with the tag: localhost/absent\"");
    assertThat(docker.run("push", "localhost/absent").code()).isEqualTo(1);
  }

  @Test
  void containersBecomeImages() throws Exception {
    docker.out("run", "--name", "donor", Node.IMAGE, "sh", "-c", "echo made > /made");
    String id = docker.out("commit", "-m", "note", "-c", "ENV B=c", "donor", "localhost/made:1");
    assertThat(id).startsWith("sha256:");
    assertThat(inspect(id).at("Parent")).isEqualTo(inspect(Node.IMAGE).at("Id"));
    assertThat(docker.out("run", "--rm", "localhost/made:1", "sh", "-c", "cat /made; echo $B"))
        .isEqualTo("made\nc");
    String unnamed = docker.out("commit", "-a", "Ann", "donor");
    assertThat(inspect(unnamed).at("Author").string()).contains("Ann");
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

  /** Two images that differ in their configuration alone, and a container of one of them. */
  @Test
  void anImageIsRemovedWhoseLayersAnotherOnesContainerUses() throws Exception {
    Path archive = directory.resolve("twin.tar");
    Files.write(
        archive,
        ImageMaker.busybox().cmd("sh").label("twin", "yes").make().ociArchive("localhost/twin:1"));
    docker.out("load", "-i", archive.toString());
    assertThat(inspect("localhost/twin:1").at("RootFS"))
        .isEqualTo(inspect(Node.IMAGE).at("RootFS"));
    docker.out("run", "-d", "--name", "user", Node.IMAGE, "sleep", "300");
    String id = inspect("localhost/twin:1").at("Id").string().orElseThrow();
    assertThat(docker.out("rmi", "localhost/twin:1"))
        .contains("Untagged: localhost/twin:1", "Deleted: " + id);
    assertThat(docker.out("exec", "user", "ls", "/bin/sh")).isEqualTo("/bin/sh");
    assertThat(docker.run("rmi", Node.IMAGE).stderr()).contains("is using its referenced image");
    docker.out("run", "--rm", Node.IMAGE, "true");
    docker.out("load", "-i", archive.toString());
    assertThat(docker.out("image", "prune", "-af")).contains("localhost/twin:1");
  }

  @Test
  void factsAboutTheNodeAreThoseOfThisHost() throws Exception {
    try (var wire = new DockerWire(node.node().dockerSocket());
        var watching = wire.raw()) {
      Json before = wire.send("GET", "/info").expect(200).json();
      assertThat(before.at("NEventsListener").integer()).contains(0L);
      watching.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
      assertThat(watching.head()).startsWith("HTTP/1.1 200");
      Awaitility.await()
          .atMost(Duration.ofSeconds(20))
          .until(
              () ->
                  wire.send("GET", "/info").json().at("NEventsListener").integer().orElse(0L) == 1);

      assertThat(before.at("KernelVersion").string()).contains(host("uname", "-r"));
      assertThat(before.at("Architecture").string()).contains(host("uname", "-m"));
      assertThat(before.at("Name").string()).contains(host("cat", "/proc/sys/kernel/hostname"));
      assertThat(before.at("IPv4Forwarding").bool())
          .contains(host("cat", "/proc/sys/net/ipv4/ip_forward").equals("1"));
      assertThat(before.at("NFd").integer().orElse(0L)).isGreaterThan(10);
      assertThat(before.at("NGoroutines").integer().orElse(0L)).isGreaterThan(5);
      assertThat(before.at("DriverStatus").items().getFirst().strings())
          .containsExactly(
              "Backing Filesystem", Files.getFileStore(node.node().directories().data()).type());
      boolean unified = Files.exists(Path.of("/sys/fs/cgroup/cgroup.controllers"));
      assertThat(before.at("CgroupVersion").string()).contains(unified ? "2" : "1");
      assertThat(before.at("OomKillDisable").bool()).contains(!unified);
      String runtime = before.at("DefaultRuntime").string().orElseThrow();
      Path program = Path.of(before.at("Runtimes").at(runtime).at("path").string().orElseThrow());
      assertThat(program).isExecutable();
      Json engine = wire.send("GET", "/version").expect(200).json();
      assertThat(engine.at("KernelVersion").string()).contains(host("uname", "-r"));
      Json component = engine.at("Components").items().get(1);
      assertThat(component.at("Name").string()).contains(runtime);
      assertThat(host(program.toString(), "--version"))
          .contains(component.at("Version").string().orElseThrow());
      assertThat(before.at("ID").string())
          .isEqualTo(wire.send("GET", "/info").json().at("ID").string());
    }
  }

  private static String host(String... words) throws Exception {
    return Processes.run(Command.of(words), Deadline.after(Duration.ofSeconds(20)))
        .stdout()
        .strip();
  }

  @Test
  void theNodeAndItsDiskAreDescribed() throws Exception {
    assertThat(docker.out("info")).contains("Server Version").contains("Storage Driver: overlay2");
    assertThat(docker.out("system", "df")).contains("Images").contains("Local Volumes");
    assertThat(docker.out("version")).contains("zlayer");
    assertThat(docker.run("search", "x").stderr()).contains("registries are not searched");
  }
}
