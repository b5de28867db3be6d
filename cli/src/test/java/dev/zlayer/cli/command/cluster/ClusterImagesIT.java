package dev.zlayer.cli.command.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.ClusterFixture;
import dev.zlayer.cli.ClusterFixture.Machine;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/** Content of images between three machines, and Debian's registry on the first one. */
@Requires(
    value = {Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.OVERLAYFS, Fact.BUSYBOX},
    programs = {
      "curl",
      "etcd",
      "flock",
      "setsid",
      "ip",
      "bridge",
      "nft",
      "nsenter",
      "docker-registry"
    })
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ClusterImagesIT {
  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final String REGISTRY = "192.0.2.1:5000";
  private static final Pattern ACCESS =
      Pattern.compile("\"GET (/v2/\\S+/blobs/\\S+) HTTP\\S+ (2\\d\\d)");

  @TempDir static Path directory;
  private static ClusterFixture machines;
  private static Machine one;
  private static Machine two;
  private static Machine three;
  private static Process registry;

  /** Blobs that the registry gave to others. */
  private record Served(String path, int status) {}

  @BeforeAll
  static void start() throws IOException {
    machines = new ClusterFixture(directory, 3);
    one = machines.machine(1);
    two = machines.machine(2);
    three = machines.machine(3);
    registry = registry();
    for (Machine machine : List.of(one, two, three)) {
      Files.writeString(
          machine.agent().directory().resolve("etc/registries.json"),
          "{\"hosts\": {\"%s\": {\"plainHttp\": true}}}".formatted(REGISTRY));
      machine.agent().kill();
      machine.agent().restart();
    }
    machines.form("one", "two", "three");
    await("the nodes know each other")
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(two.nodes())
                    .containsExactlyInAnyOrder("one ready", "two ready", "three ready"));
  }

  private static Process registry() throws IOException {
    Path config = directory.resolve("registry.yml");
    Files.writeString(
        config,
        """
        version: 0.1
        log: {level: info}
        http: {addr: "%s", secret: testkit}
        storage: {filesystem: {rootdirectory: "%s"}}
        """
            .formatted(REGISTRY, directory.resolve("registry")));
    return Processes.start(
        Command.of(
            "nsenter",
            "--net=/run/netns/" + one.namespace(),
            "docker-registry",
            "serve",
            config.toString()),
        log().toFile());
  }

  private static Path log() {
    return directory.resolve("registry.log");
  }

  @AfterAll
  static void stop() {
    if (registry != null) {
      registry.destroyForcibly();
    }
    if (machines != null) {
      machines.close();
    }
  }

  private static List<Served> served() {
    try {
      return Files.readAllLines(log()).stream()
          .map(ACCESS::matcher)
          .filter(Matcher::find)
          .map(match -> new Served(match.group(1), Integer.parseInt(match.group(2))))
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<Served> served(Digest blob) {
    return served().stream().filter(one -> one.path().endsWith(blob.toString())).toList();
  }

  /** Only the first machine has it, and the registry. */
  private static MadeImage pushed(String tag, int size) {
    var bytes = new byte[size];
    new Random(tag.hashCode()).nextBytes(bytes);
    MadeImage made =
        ImageMaker.busybox()
            .layer(TarEntry.file("payload", bytes))
            .cmd("sh", "-c", "wc -c < /payload")
            .make();
    String name = REGISTRY + "/app:" + tag;
    CliFixture.Result loaded =
        one.agent().cli().runWithInput(made.ociArchive(name), "image", "load");
    assertThat(loaded.code()).as(loaded.err()).isZero();
    await("the registry takes it").atMost(LIMIT).untilAsserted(() -> one.agent().ok("push", name));
    return made;
  }

  private static Content payload(MadeImage made) {
    return made.layers().getLast().blob();
  }

  private static void runs(Machine machine, String tag, int size) {
    assertThat(machine.agent().ok("run", "--rm", "--network", "none", REGISTRY + "/app:" + tag))
        .contains(String.valueOf(size));
  }

  private static Path blob(Machine machine, Digest digest) throws IOException {
    try (Stream<Path> all = Files.walk(machine.agent().dataDirectory())) {
      return all.filter(path -> path.endsWith(Path.of("sha256", digest.hex())))
          .findFirst()
          .orElseThrow();
    }
  }

  @Test
  @Order(1)
  void theSecondNodeAsksTheRegistryForNoBlob() {
    pushed("v1", 300_000);
    int before = served().size();

    CliFixture.Result pulled = two.agent().cli().run("pull", REGISTRY + "/app:v1");

    assertThat(pulled.code()).as(pulled.err()).isZero();
    assertThat(served()).as(pulled.out() + pulled.err()).hasSize(before);
    runs(two, "v1", 300_000);
  }

  @Test
  @Order(2)
  void wrongBytesOfANodeAreRefusedAndTheRegistryIsAsked() throws IOException {
    Content payload = payload(pushed("v2", 400_000));
    Path file = blob(one, payload.digest());
    byte[] bytes = Files.readAllBytes(file);
    bytes[bytes.length / 2] ^= 1;
    Files.write(file, bytes);

    String said = two.agent().ok("pull", REGISTRY + "/app:v2");

    assertThat(served(payload.digest())).as(said).hasSize(1);
    assertThat(two.agent().ok("image", "fsck")).doesNotContain("damage");
    runs(two, "v2", 400_000);
  }

  /** The connection is limited, so that there is a middle. */
  @Test
  @Order(3)
  void aNodeThatIsKilledInTheMiddleIsReplacedByTheRegistry() throws Exception {
    int size = 24 << 20;
    Content payload = payload(pushed("v3", size));
    for (String rule :
        List.of(
            "add table ip slow",
            "add chain ip slow out { type filter hook output priority 0; }",
            "add rule ip slow out tcp sport 2377 limit rate over 4 mbytes/second burst 1 mbytes"
                + " drop")) {
      assertThat(one.program("nft", rule).code()).isZero();
    }
    CompletableFuture<String> pull =
        CompletableFuture.supplyAsync(() -> two.agent().ok("pull", REGISTRY + "/app:v3"));
    Path arriving =
        two.agent()
            .dataDirectory()
            .resolve("images/ingest/sha256-" + payload.digest().hex() + ".partial");
    await("a part has come")
        .atMost(LIMIT)
        .pollInterval(Duration.ofMillis(5))
        .until(() -> Files.exists(arriving) && Files.size(arriving) > 512 << 10);
    assertThat(served(payload.digest())).isEmpty();

    one.agent().kill();

    String said = pull.get(LIMIT.toSeconds(), java.util.concurrent.TimeUnit.SECONDS);
    assertThat(said).isNotEmpty();
    assertThat(served(payload.digest())).isNotEmpty().allMatch(one -> one.status() == 206);
    runs(two, "v3", size);
    one.program("nft", "delete table ip slow");
    one.agent().restart();
  }

  @Test
  @Order(4)
  void onlyMembersGetContent() throws IOException {
    Content payload = payload(pushed("v4", 1000));
    String path = "/cluster/blobs/" + payload.digest();

    assertThat(two.call(two.etcd().getParent(), "https://" + one.address() + ":2377/api/v1" + path))
        .isEqualTo("200");
    assertThat(
            two.program(
                    "curl",
                    "-sk",
                    "-o",
                    "/dev/null",
                    "-w",
                    "%{http_code}",
                    "https://" + one.address() + ":2377/api/v1" + path)
                .stdout())
        .isEqualTo("401");
    assertThat(one.ask(ClusterFixture.TOKEN, path)).endsWith("404");
  }

  /** What was only loaded on one node is known to the others by its digest, not by its name. */
  @Test
  @Order(5)
  void anImageOfOneNodeRunsOnAnotherByItsDigest() {
    MadeImage made =
        ImageMaker.busybox().cmd("sh", "-c", "trap 'exit 0' TERM; sleep 1000 & wait").make();
    CliFixture.Result loaded =
        one.agent().cli().runWithInput(made.ociArchive("local:v1"), "image", "load");
    assertThat(loaded.code()).as(loaded.err()).isZero();
    Path file = directory.resolve("local.yml");
    try {
      Files.writeString(
          file,
          """
          version: v1
          deployment: local
          services:
            web:
              image: {name: "%s/local@%s"}
              affinity: {pin: id=three}
              update: {min_healthy_time: 0s}
          """
              .formatted(REGISTRY, made.digest()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    two.agent().ok("up", file.toString());
    await("it runs on three")
        .atMost(LIMIT)
        .untilAsserted(() -> assertThat(two.replicas("local")).isEqualTo(Map.of(1L, "three")));
    assertThat(three.agent().json("image", "ls", "--json").items())
        .extracting(Json::toString)
        .anyMatch(image -> image.contains(made.digest().toString()));
    CliFixture.Result tagged = three.agent().cli().run("pull", REGISTRY + "/local:v1");
    assertThat(tagged.code()).isNotZero();
    two.agent().ok("down", "local");
  }
}
