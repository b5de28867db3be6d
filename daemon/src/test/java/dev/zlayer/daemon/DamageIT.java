package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.SqliteStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.engine.state.StoreConfig;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.runtime.composite.DispatchRecord;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that a power failure or a bad disk has emptied or garbled: the rest has to go on. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DamageIT {
  private Node node;

  @BeforeEach
  void open() throws Exception {
    node = new Node().with("network_pool", "0");
  }

  @AfterEach
  void close() throws Exception {
    node.close();
  }

  private static void create(Rest rest, String name, String network) throws InterruptedException {
    rest.post(
            "/containers",
            "{\"name\":\"%s\",\"image\":\"%s\",\"pull\":\"never\",%s\"command\":[\"sleep\",\"1000\"]}"
                .formatted(name, Node.IMAGE, network))
        .expect(201);
  }

  private static Map<String, Json> containers(Rest rest) throws InterruptedException {
    var all = new HashMap<String, Json>();
    for (Json one : rest.get("/containers?all=true").expect(200).json().items()) {
      all.put(one.at("name").string().orElseThrow(), one);
    }
    return all;
  }

  private Path record(String name) throws IOException {
    return node.directory.resolve("containers").resolve(directory(name)).resolve("record.json");
  }

  private String directory(String name) throws IOException {
    try (Stream<Path> paths = Files.list(node.directory.resolve("containers"))) {
      return paths
          .map(path -> path.getFileName().toString())
          .filter(path -> path.startsWith(name + "-"))
          .findFirst()
          .orElseThrow();
    }
  }

  @Test
  void aContainerWithoutAReadableRecordStaysVisibleAndCanBeRemoved() throws Exception {
    Map<String, Json> before;
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      for (String name : new String[] {"empty", "garbage", "later", "incomplete", "sound"}) {
        create(rest, name, "\"network_mode\":\"none\",");
      }
      before = containers(rest);
      first.kill();
    }
    Files.write(record("empty"), new byte[0]);
    Files.writeString(record("garbage"), "\0\0{{");
    Files.writeString(record("later"), "{\"version\":99}\n");
    Files.writeString(record("incomplete"), "{\"version\":2}\n");
    Files.write(
        node.directory.resolve("snapshots").resolve(directory("sound")).resolve("snapshot.json"),
        new byte[0]);
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Map<String, Json> after = containers(rest);
      String record = record("later").toString();
      assertThat(after.keySet()).isEqualTo(before.keySet());
      assertThat(after.get("sound").at("pid")).isEqualTo(before.get("sound").at("pid"));
      assertThat(rest.get("/info").expect(200).json().at("damages").strings())
          .hasSize(4)
          .anyMatch(text -> text.contains(record) && text.contains("version 99"));
      assertThat(rest.get("/events").expect(200).text()).contains("agent.damaged");
      for (String name : new String[] {"empty", "garbage", "later", "incomplete"}) {
        assertThat(after.get(name).at("state").string()).as(name).contains("unknown");
        rest.delete("/containers/" + name + "?force=true").expect(204);
        long pid = before.get(name).at("pid").integer().orElseThrow();
        Awaitility.await().until(() -> ProcessHandle.of(pid).isEmpty());
      }
      assertThat(containers(rest).keySet()).containsExactly("sound");
      rest.post("/containers/sound/exec", "{\"command\":[\"ls\",\"/bin/sh\"]}").expect(200);
      rest.delete("/containers/sound?force=true").expect(204);
      Awaitility.await()
          .untilAsserted(() -> assertThat(node.directory.resolve("snapshots")).isEmptyDirectory());
    }
    assertThat(Files.readString(node.directory.resolve("daemon.log"))).doesNotContain("\tat ");
  }

  @Test
  void damagedFilesKeepNothingElseFromWorking() throws Exception {
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      create(rest, "sound", "");
      first.kill();
    }
    for (String name :
        List.of(
            "images/index.json",
            "network/networks/default.json",
            "dispatch/all.json",
            "run/oci-tools.json",
            "state.db")) {
      Path file = node.directory.resolve(name);
      assertThat(file).exists();
      Files.deleteIfExists(node.directory.resolve(name + "-wal"));
      Files.write(file, new byte[0]);
    }
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      rest.get("/health/ready").expect(200);
      assertThat(containers(rest).get("sound").at("state").string()).contains("running");
      Node.loadImage(rest);
      create(rest, "fresh", "");
      rest.delete("/containers/sound?force=true").expect(204);
      assertThat(rest.get("/info").expect(200).json().at("damages").strings())
          .as("the others can be made anew")
          .singleElement()
          .asString()
          .contains("state.db");
    }
  }

  /** One whose namespace cannot be read any more keeps its address for itself. */
  @Test
  void theAddressOfADamagedNamespaceIsGivenToNobodyElse() throws Exception {
    Map<String, Json> before;
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      create(rest, "one", "");
      create(rest, "two", "");
      before = containers(rest);
      first.kill();
    }
    Path held = find(node.directory.resolve("run"), "held").getFirst();
    List<Path> records = find(held, ".json");
    assertThat(records).hasSize(2);
    Files.writeString(records.getFirst(), "");
    Files.writeString(records.getLast(), "{\"version\":99}");
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      create(rest, "fresh", "");
      Map<String, Json> after = containers(rest);
      for (String name : List.of("one", "two")) {
        assertThat(after.get(name).at("pid")).as(name).isEqualTo(before.get(name).at("pid"));
        assertThat(after.get(name).at("ip")).as(name).isEqualTo(before.get(name).at("ip"));
        assertThat(after.get("fresh").at("ip")).isNotEqualTo(before.get(name).at("ip"));
      }
      for (String name : List.of("one", "two", "fresh")) {
        rest.delete("/containers/" + name + "?force=true").expect(204);
      }
      Awaitility.await().until(() -> find(held.resolveSibling("leaving"), ".json").isEmpty());
      assertThat(find(held, ".json")).isEmpty();
    }
    assertThat(Files.readString(node.directory.resolve("daemon.log")))
        .contains("damaged")
        .doesNotContain("\tat ");
  }

  /** All that the agent itself has written about what it runs, at once. */
  @ParameterizedTest
  @ValueSource(strings = {"\0{{", "{\"version\":99}"})
  void whateverIsDamagedNothingIsInvisibleOrCannotBeRemoved(String content) throws Exception {
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      create(rest, "bridged", "");
      create(rest, "mapped", "\"network_mode\":\"none\",\"userns_mode\":\"private\",");
      up(rest);
      first.kill();
    }
    List<Path> files = new ArrayList<>();
    for (String part : List.of("containers", "snapshots", "network", "dispatch", "run")) {
      files.addAll(find(node.directory.resolve(part), ".json"));
    }
    files.removeIf(file -> file.startsWith(node.directory.resolve("run/oci"))); // the tool's own
    if (content.contains("version")) {
      // networks of a later program are not touched: the agent does not start and says why
      files.removeIf(file -> file.startsWith(node.directory.resolve("network")));
    } else {
      files.add(node.directory.resolve("images/index.json"));
    }
    for (Path file : files) {
      Files.writeString(file, content);
    }
    assertThat(files).hasSizeGreaterThan(9);
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      rest.get("/health/ready").expect(200);
      assertThat(rest.get("/info").expect(200).json().at("damages").strings()).isNotEmpty();
      List<Json> all = rest.get("/containers?all=true").expect(200).json().items();
      assertThat(all).hasSizeGreaterThanOrEqualTo(3);
      down(rest);
      removeUnknown(rest);
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .until(() -> rest.get("/deployments/shop").status() == 404);
      assertThat(containers(rest)).isEmpty();
      Awaitility.await()
          .untilAsserted(() -> assertThat(node.directory.resolve("containers")).isEmptyDirectory());
      Node.loadImage(rest);
      create(rest, "fresh", "");
      rest.delete("/containers/fresh?force=true").expect(204);
    }
    assertThat(Files.readString(node.directory.resolve("daemon.log"))).doesNotContain("\tat ");
  }

  private static void removeUnknown(Rest rest) throws InterruptedException {
    for (Json one : rest.get("/containers?all=true").expect(200).json().items()) {
      if (one.at("state").string().equals(Optional.of("unknown"))) {
        rest.delete("/containers/" + one.at("id").string().orElseThrow() + "?force=true")
            .expect(204);
      }
    }
  }

  /**
   * Whose a container is that holds the network cannot be known any more: the removal names it and
   * what to do, instead of waiting for ever.
   */
  private static void down(Rest rest) throws InterruptedException {
    Json end = rest.delete("/deployments/shop?wait=50s").expect(200).json();
    if (end.at("outcome").string().equals(Optional.of("removed"))) {
      return;
    }
    assertThat(end.at("outcome").string()).as(end.toString()).contains("failed");
    String reason = end.at("reason").string().orElseThrow();
    assertThat(reason).contains("is in use by web-").contains("'zlayer rm -f web-");
    Json shown = rest.get("/deployments/shop").expect(200).json();
    assertThat(shown.at("state").string()).contains("removing");
    assertThat(shown.at("problem").at("message").string()).contains(reason);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void downEndsWhateverIsDamagedOfADeploymentAndItsContainers(boolean rows) throws Exception {
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      up(rest);
      first.kill();
    }
    Files.writeString(record("web"), "\0{{");
    Files.writeString(node.directory.resolve("dispatch/all.json"), "\0{{");
    if (rows) {
      damageRows();
    }
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      down(rest);
      removeUnknown(rest);
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .until(() -> rest.get("/deployments/shop").status() == 404);
      assertThat(containers(rest)).isEmpty();
      up(rest);
      assertThat(rest.delete("/deployments/shop?wait=50s").expect(200).text()).contains("removed");
    }
    assertThat(Files.readString(node.directory.resolve("daemon.log"))).doesNotContain("\tat ");
  }

  private void damageRows() {
    try (StateStore store =
        SqliteStateStore.open(node.directory.resolve("state.db"), StoreConfig.DEFAULT)) {
      for (String kind : List.of("deployment", "service")) {
        for (StateStore.Entry entry : store.list(kind)) {
          store.commit(Change.of(new Change.Put(kind, entry.key(), new byte[] {0, '{', '{'})));
        }
      }
    }
  }

  private static void up(Rest rest) throws InterruptedException {
    String file =
        """
        version: v1
        deployment: shop
        services:
          web:
            image: {name: "%s", pull_policy: never}
            command: [sleep, "1000"]
            stop_grace_period: 1s
            endpoints: [{name: http, protocol: tcp, port: 80}]
        """
            .formatted(Node.IMAGE);
    rest.put("/deployments/shop", file.getBytes(StandardCharsets.UTF_8)).expect(202);
    Awaitility.await()
        .until(() -> rest.get("/containers?deployment=shop").json().items().size() == 1);
  }

  /** Files whose names end so, and directories of that name; mounted things are left out. */
  private static List<Path> find(Path directory, String end) throws IOException {
    var found = new ArrayList<Path>();
    var mounts = Mounts.list().stream().map(Mounts.MountPoint::target).collect(Collectors.toSet());
    Files.walkFileTree(
        directory,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes) {
            if (path.getFileName().toString().equals(end)) {
              found.add(path);
            }
            boolean content = path.endsWith("upper") || path.endsWith("work");
            return mounts.contains(path) || content
                ? FileVisitResult.SKIP_SUBTREE
                : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            if (attributes.isRegularFile() && file.getFileName().toString().endsWith(end)) {
              found.add(file);
            }
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
            if (e instanceof NoSuchFileException) {
              return FileVisitResult.CONTINUE; // it went away meanwhile
            }
            throw e;
          }
        });
    return found;
  }

  @Test
  void tenTimesWhatMayBeRecordedOfContainersIsReadInTheShippedHeap() throws Exception {
    Path file = Files.createDirectories(node.directory.resolve("dispatch")).resolve("all.json");
    try (var lines = Files.newBufferedWriter(file)) {
      for (int i = 0; i < 320; i++) {
        var spec =
            ContainerSpec.of(ImageRef.parse(Node.IMAGE))
                .withLabels(Map.of("large", "x".repeat(256 << 10)));
        var record = DispatchRecord.of(ContainerId.of("standalone", "c" + i, 1), "oci", spec);
        lines.write(JsonText.print(RecordJson.write(record)) + "\n");
      }
    }
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      create(rest, "small", "\"network_mode\":\"none\",");
      String large = "\"env\":{\"LARGE\":\"%s\"},".formatted("x".repeat(300 << 10));
      assertThat(
              rest.post(
                      "/containers",
                      "{\"name\":\"large\",\"image\":\"%s\",\"pull\":\"never\",%s\"command\":[\"true\"]}"
                          .formatted(Node.IMAGE, large))
                  .expect(422)
                  .json()
                  .at("detail")
                  .string())
          .hasValueSatisfying(text -> assertThat(text).contains("at most 262144"));
    }
  }

  /** Each container is within its limit, and all together are not. */
  @Test
  void environmentsAreBoundedInSumAndTheAgentStartsWithThem() throws Exception {
    String large =
        "\"network_mode\":\"none\",\"env\":{\"LARGE\":\"%s\"},".formatted("x".repeat(250 << 10));
    Map<String, Json> before;
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      rest.get("/health/ready").expect(200);
      int made = 0;
      Rest.Reply reply = tryCreate(rest, "c0", large);
      while (reply.status() == 201 && made < 100) {
        made++;
        reply = tryCreate(rest, "c" + made, large);
      }
      assertThat(reply.expect(429).json().at("detail").string())
          .hasValueSatisfying(
              text -> assertThat(text).contains("8388608 bytes", "remove some containers"));
      assertThat(made).as("about 8 MiB fit").isBetween(30, 34);
      tryCreate(rest, "small", "\"network_mode\":\"none\",").expect(429);
      assertThat(rest.get("/health/ready").expect(503).json().at("parts").at("creates").string())
          .hasValueSatisfying(text -> assertThat(text).contains("remove some containers"));
      before = containers(rest);
      assertThat(before).hasSize(made);
      first.kill();
    }
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      assertThat(containers(rest).keySet()).isEqualTo(before.keySet());
      rest.get("/health/ready").expect(503);
      assertThat(rest.delete("/containers/c0?force=true").status()).isIn(200, 204);
      assertThat(rest.delete("/containers/c1?force=true").status()).isIn(200, 204);
      rest.get("/health/ready").expect(200);
      tryCreate(rest, "small", "\"network_mode\":\"none\",").expect(201);
    }
  }

  private static Rest.Reply tryCreate(Rest rest, String name, String more)
      throws InterruptedException {
    return rest.post(
        "/containers",
        "{\"name\":\"%s\",\"image\":\"%s\",\"pull\":\"never\",\"start\":false,%s\"command\":[\"true\"]}"
            .formatted(name, Node.IMAGE, more));
  }
}
