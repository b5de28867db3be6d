package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.http.WebSocket;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The Docker Engine API as bytes, where clients differ from Docker's own command line. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DockerApiIT {
  @RegisterExtension static final DockerNode node = new DockerNode();
  private static final DockerWire wire = node.wire();

  private static String body(String... words) {
    return JsonText.print(
        Json.object().put("Image", Node.IMAGE).put("Cmd", List.of(words)).build());
  }

  private static String body(Map<String, ?> more, String... words) {
    var json = Json.object().put("Image", Node.IMAGE).put("Cmd", List.of(words));
    more.forEach(json::put);
    return JsonText.print(json.build());
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  @Test
  void everyVersionIsServedThatIsAnnounced() throws Exception {
    DockerWire.Reply ping = wire.send("HEAD", "/_ping").expect(200);
    assertThat(ping.text()).isEmpty();
    assertThat(ping.headers().first("Api-Version")).contains("1.51");
    assertThat(ping.headers().first("Ostype")).contains("linux");
    assertThat(ping.headers().first("Docker-Experimental")).contains("false");
    assertThat(ping.headers().first("Server").orElse("")).startsWith("zlayer/");
    assertThat(wire.send("GET", "/_ping").expect(200).text()).isEqualTo("OK");
    for (String version : List.of("", "/v1.24", "/v1.44", "/v1.51")) {
      assertThat(
              wire.send("GET", version + "/version").expect(200).json().at("ApiVersion").string())
          .contains("1.51");
    }
    assertThat(wire.send("GET", "/v1.23/version").expect(400).message()).contains("too old");
    assertThat(wire.send("GET", "/v1.52/version").expect(400).message()).contains("too new");
    assertThat(wire.send("GET", "/no/such/page").expect(404).message()).isEqualTo("page not found");
  }

  @Test
  void whatNeedsASwarmIsRefusedAsWithoutOne() throws Exception {
    for (String of : List.of("nodes", "services", "tasks", "configs", "secrets", "swarm")) {
      assertThat(wire.send("GET", "/" + of).expect(503).message()).contains("not a swarm manager");
    }
    assertThat(wire.post("/services/create", "{}").expect(503).message()).contains("swarm");
    assertThat(wire.post("/swarm/init", "{}").expect(501).message()).contains("not supported");
    assertThat(wire.send("GET", "/plugins").expect(200).json().items()).isEmpty();
  }

  @Test
  void theSocketIsForItsOwnerAndItsGroup() throws Exception {
    assertThat(
            PosixFilePermissions.toString(
                Files.getPosixFilePermissions(node.node().dockerSocket())))
        .isEqualTo("rw-rw----");
  }

  @Test
  void aClientMayEndItsInputAndStillReadsTheOutput() throws Exception {
    String id = wire.create("half", body(Map.of("OpenStdin", true, "StdinOnce", true), "wc", "-c"));
    try (var raw = wire.raw()) {
      // the input comes right behind the head, before the container runs
      raw.send(
              "POST /v1.41/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1 HTTP/1.1\r\n"
                      .formatted(id)
                  + "Host: \r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nhello")
          .end();
      assertThat(raw.head())
          .startsWith("HTTP/1.1 101 UPGRADED\r\n")
          .contains("Upgrade: tcp")
          .contains("multiplexed-stream");
      wire.send("POST", "/containers/half/start").expect(204);
      assertThat(DockerWire.frames(raw.rest())).isEqualTo("1:5\n");
    }
  }

  @Test
  void aWebSocketCarriesBothDirections() throws Exception {
    String id =
        wire.create("socket", body(Map.of("OpenStdin", true), "sh", "-c", "read x; echo got $x"));
    try (var socket =
        wire.socket("/containers/%s/attach/ws?stream=1&stdin=1&stdout=1".formatted(id))) {
      wire.send("POST", "/containers/socket/start").expect(204);
      socket.sendBinary("it\n".getBytes(StandardCharsets.UTF_8));
      var text = new StringBuilder();
      while (socket.receive() instanceof WebSocket.Message.Binary(byte[] bytes)) {
        text.append(new String(bytes, StandardCharsets.UTF_8));
      }
      assertThat(text).hasToString("got it\n");
    }
  }

  @Test
  void aProcessEndsAlthoughOneThatItLeftKeepsItsOutput() throws Exception {
    wire.create("leaving", body("sleep", "300"));
    wire.send("POST", "/containers/leaving/start").expect(204);
    for (boolean detached : List.of(false, true)) {
      String exec =
          wire.post(
                  "/containers/leaving/exec",
                  "{\"Cmd\":[\"sh\",\"-c\",\"echo out; sleep 200 & exit 6\"],\"AttachStdout\":true,"
                      + "\"AttachStderr\":true}")
              .expect(201)
              .json()
              .at("Id")
              .string()
              .orElseThrow();
      DockerWire.Reply ran =
          wire.post("/exec/" + exec + "/start", "{\"Detach\":%s}".formatted(detached)).expect(200);

      if (!detached) {
        assertThat(DockerWire.frames(ran.text().getBytes(StandardCharsets.ISO_8859_1)))
            .isEqualTo("1:out\n");
      }
      Awaitility.await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(
              () ->
                  assertThat(
                          wire.send("GET", "/exec/" + exec + "/json")
                              .json()
                              .at("ExitCode")
                              .integer())
                      .contains(6L));
    }
  }

  @Test
  void aProcessIsDescribedStartedAndLookedAtWithoutAnUpgrade() throws Exception {
    wire.create("inside", body("sleep", "300"));
    wire.send("POST", "/containers/inside/start").expect(204);
    String exec =
        wire.post(
                "/containers/inside/exec",
                "{\"Cmd\":[\"sh\",\"-c\",\"echo out; exit 6\"],\"AttachStdout\":true,"
                    + "\"AttachStderr\":true}")
            .expect(201)
            .json()
            .at("Id")
            .string()
            .orElseThrow();
    Json before = wire.send("GET", "/exec/" + exec + "/json").expect(200).json();
    assertThat(before.at("Running").bool()).contains(false);
    assertThat(before.at("ExitCode").isNull()).isTrue();

    DockerWire.Reply ran = wire.post("/exec/" + exec + "/start", "{\"Detach\":false}").expect(200);

    assertThat(DockerWire.frames(ran.text().getBytes(StandardCharsets.ISO_8859_1)))
        .isEqualTo("1:out\n");
    Json after = wire.send("GET", "/exec/" + exec + "/json").json();
    assertThat(after.at("ExitCode").integer()).contains(6L);
    assertThat(after.at("ProcessConfig").at("entrypoint").string()).contains("sh");
    assertThat(wire.post("/exec/" + exec + "/start", "{}").status()).isEqualTo(409);
    assertThat(wire.send("GET", "/exec/nothing/json").expect(404).message())
        .contains("No such exec instance");
    assertThat(wire.post("/containers/inside/exec", "{\"Cmd\":[]}").expect(400).message())
        .contains("No exec command specified");
  }

  @Test
  void waitingMayBeginBeforeTheStart() throws Exception {
    for (String condition : List.of("next-exit", "removed")) {
      String name = "waits-" + condition;
      wire.create(
          name, body(Map.of("HostConfig", Map.of("AutoRemove", true)), "sh", "-c", "exit 9"));
      try (var scope = new TaskScope("wait");
          var raw = wire.raw()) {
        raw.send(
            "POST /containers/%s/wait?condition=%s HTTP/1.1\r\nHost: x\r\n\r\n"
                .formatted(name, condition));
        assertThat(raw.head()).startsWith("HTTP/1.1 200"); // sent before anything has ended
        scope.fork(() -> wire.send("POST", "/containers/" + name + "/start").expect(204));
        scope.join();
        assertThat(new String(raw.rest(), StandardCharsets.UTF_8)).contains("{\"StatusCode\":9}");
      }
      Awaitility.await()
          .atMost(Duration.ofSeconds(10))
          .until(() -> wire.send("GET", "/containers/" + name + "/json").status() == 404);
    }
    assertThat(wire.post("/containers/create?name=bad", body("true")).status()).isEqualTo(201);
    assertThat(wire.send("POST", "/containers/bad/wait?condition=soon").expect(400).message())
        .contains("invalid condition");
  }

  @Test
  void filtersAreReadAsMapsAndAsLists() throws Exception {
    wire.create("one", body(Map.of("Labels", Map.of("team", "a"))));
    wire.create("two", body(Map.of("Labels", Map.of("team", "b"))));

    for (String filter : List.of("{\"label\":{\"team=a\":true}}", "{\"label\":[\"team=a\"]}")) {
      Json listed =
          wire.send("GET", "/containers/json?all=true&filters=" + encoded(filter))
              .expect(200)
              .json();
      assertThat(listed.items()).hasSize(1);
      assertThat(listed.items().getFirst().at("Names").strings()).containsExactly("/one");
    }
    String absent = encoded("{\"label\":[\"team=c\"]}");
    assertThat(wire.send("POST", "/containers/prune?filters=" + absent).expect(200).text())
        .contains("\"SpaceReclaimed\":0");
    assertThat(wire.send("GET", "/containers/json?filters=nonsense").expect(400).message())
        .contains("invalid filters");
  }

  @Test
  void namesMayBeginWithASlash() throws Exception {
    String id = wire.create("slashed", body("true"));

    for (String path : List.of("slashed", "%2Fslashed", "/slashed", id, id.substring(0, 12))) {
      assertThat(wire.send("GET", "/containers/" + path + "/json").expect(200).json().at("Id"))
          .isEqualTo(Json.of(id));
    }
    assertThat(wire.send("GET", "/containers/absent/json").expect(404).message())
        .isEqualTo("No such container: absent");
  }

  /** Events are kept by the hundred thousand, so a request of a client is not part of them. */
  @Test
  void eventsDoNotRepeatTheRequest() throws Exception {
    wire.create("large", body("echo", "x".repeat(20_000)));

    try (Rest rest = Rest.on(node.node().socket())) {
      List<Json> events =
          rest.get("/events?limit=5000").expect(200).json().at("events").items().stream()
              .filter(event -> event.at("subject").string().filter("large"::equals).isPresent())
              .toList();
      assertThat(events).isNotEmpty();
      assertThat(events).allMatch(event -> JsonText.print(event).length() < 5_000);
    }
  }

  @Test
  void whatIsAlreadySoIsUnchanged() throws Exception {
    wire.create("twice", body("sleep", "300"));

    wire.send("POST", "/containers/twice/stop?t=0").expect(304);
    wire.send("POST", "/containers/twice/start").expect(204);
    wire.send("POST", "/containers/twice/start").expect(304);
    wire.send("POST", "/containers/twice/stop?t=0").expect(204);
    wire.send("POST", "/containers/twice/stop?t=0").expect(304);
    wire.send("POST", "/containers/twice/pause").expect(409);
    assertThat(wire.send("POST", "/containers/twice/kill").expect(409).message())
        .contains("is not running");
  }

  @Test
  void oddRequestsAreRefused() throws Exception {
    assertThat(wire.post("/containers/create", "{").expect(400).message()).contains("JSON");
    assertThat(wire.post("/containers/create", "[]").expect(400).message()).contains("object");
    assertThat(wire.post("/containers/create", "{}").expect(400).message())
        .contains("no image specified");
    assertThat(
            wire.post("/containers/create?name=" + encoded("../x"), body()).expect(400).message())
        .contains("Invalid container name");
    assertThat(
            wire.post("/containers/create", body(Map.of("HostConfig", Map.of("Colour", "red"))))
                .expect(400)
                .message())
        .contains("HostConfig.Colour");
    assertThat(
            wire.post(
                    "/containers/create",
                    body(Map.of("Labels", Map.of("com.zlayer.docker.id", "x"))))
                .expect(400)
                .message())
        .contains("the agent's own");
    assertThat(
            wire.post(
                    "/containers/create",
                    body(Map.of("HostConfig", Map.of("BlkioDeviceReadBps", List.of(1)))))
                .expect(400)
                .message())
        .contains("HostConfig.BlkioDeviceReadBps");
    // as a client of Go may write it, and zeros of all kinds
    wire.post(
            "/containers/create",
            "{\"image\":\"%s\",\"HostConfig\":{\"Links\":[],\"CpusetMems\":\"\",\"StorageOpt\":{}}}"
                .formatted(Node.IMAGE))
        .expect(201);
    wire.post("/containers/create", body(Map.of("Image", "absent:x"))).expect(404);
  }

  /** {@code A.B} as a member of a member. */
  private static String nested(String name) {
    return "{\""
        + name.replace(".", "\":{\"")
        + "\":\"something\""
        + "}".repeat(name.split("\\.").length);
  }

  /** The reference and the agent agree: each parameter and field is refused by its name. */
  @Test
  void whatTheReferenceRefusesIsRefused() throws Exception {
    Pattern title = Pattern.compile("### `([A-Z]+) (\\S+)`: parameters");
    Pattern row = Pattern.compile("\\| `(\\??)(\\S+)` \\| refused \\| .*");
    String method = "";
    String path = "";
    int refused = 0;
    for (String line :
        Files.readAllLines(Path.of("").toAbsolutePath().getParent().resolve("docs/docker.md"))) {
      Matcher route = title.matcher(line);
      Matcher field = row.matcher(line);
      if (route.matches()) {
        method = route.group(1);
        path = route.group(2).replaceAll("\\{[a-z]+\\*?}", "none");
      } else if (field.matches() && !path.isEmpty()) {
        String name = field.group(2);
        if (name.startsWith("EndpointConfig.")) {
          continue; // needs a network and a container: DockerNetworksIT
        }
        DockerWire.Reply reply =
            field.group(1).isEmpty()
                ? wire.post(path, nested(name))
                : wire.send(method, path + "?" + name + "=something");
        assertThat(reply.expect(400).message()).as(line).startsWith(name + " is not supported: ");
        refused++;
      } else if (line.startsWith("### ")) {
        path = ""; // the table of another kind follows
      }
    }
    assertThat(refused).isGreaterThan(25);
    assertThat(wire.post("/volumes/create", "{\"Colour\":\"red\"}").expect(400).message())
        .isEqualTo("Colour is not supported: it is unknown");
  }

  @Test
  void theSocketCanBeSwitchedOff() throws Exception {
    try (var without = new Node().with("docker_socket", "off");
        var _ = without.daemon()) {
      assertThat(without.directory.resolve("run/docker.sock")).doesNotExist();
    }
  }

  @Test
  void containersOfDeploymentsAreShownAndProtected() throws Exception {
    String file =
        """
        version: v1
        deployment: guarded
        services:
          web:
            image: {name: IMAGE, pull_policy: never}
            command: [sleep, "300"]
            stop_grace_period: 0s
        """
            .replace("IMAGE", Node.IMAGE);
    try (Rest rest = Rest.on(node.node().socket())) {
      rest.put("/deployments/guarded?directory=/", file.getBytes(StandardCharsets.UTF_8))
          .expect(202);
      String filter = encoded("{\"label\":[\"com.docker.compose.project=guarded\"]}");
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .until(
              () ->
                  wire.send("GET", "/containers/json?filters=" + filter).json().items().size()
                      == 1);
      Json shown = wire.send("GET", "/containers/json?filters=" + filter).json().items().getFirst();
      assertThat(shown.at("Names").strings()).containsExactly("/guarded-web-1");
      String id = shown.at("Id").string().orElseThrow();
      assertThat(wire.send("DELETE", "/containers/" + id + "?force=1").expect(409).message())
          .contains("belongs to deployment 'guarded'")
          .contains("'zlayer down guarded'");
      assertThat(wire.send("POST", "/containers/guarded-web-1/stop").expect(409).message())
          .contains("'zlayer stop guarded/web'");
      wire.send("POST", "/containers/" + id + "/rename?name=mine").expect(409);
      wire.post("/containers/" + id + "/update", "{\"Memory\":67108864}").expect(409);
      assertThat(wire.send("GET", "/containers/" + id + "/json").json().at("State").at("Running"))
          .isEqualTo(Json.of(true));
    } finally {
      try (Rest rest = Rest.on(node.node().socket())) {
        rest.delete("/deployments/guarded?wait=60s").expect(200);
      }
    }
  }

  /** Whoever vanishes leaves a container that is removed after its exit, and a process inside. */
  @Test
  void clientsMayVanish() throws Exception {
    wire.create(
        "left",
        body(
            Map.of("HostConfig", Map.of("AutoRemove", true)),
            "sh",
            "-c",
            "echo a; exec sleep 300"));
    try (var raw = wire.raw()) {
      raw.send(
          "POST /containers/left/attach?stream=1&stdout=1 HTTP/1.1\r\nHost: x\r\n"
              + "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
      assertThat(raw.head()).startsWith("HTTP/1.1 101");
    }
    wire.send("POST", "/containers/left/start").expect(204);
    String exec =
        wire.post("/containers/left/exec", "{\"Cmd\":[\"sleep\",\"300\"],\"AttachStdout\":true}")
            .expect(201)
            .json()
            .at("Id")
            .string()
            .orElseThrow();
    try (var raw = wire.raw()) {
      raw.send(
          "POST /exec/%s/start HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
                  .formatted(exec)
              + "Content-Length: 2\r\n\r\n{}");
      assertThat(raw.head()).startsWith("HTTP/1.1 101");
    }
    assertThat(wire.send("GET", "/exec/" + exec + "/json").json().at("Running").bool())
        .contains(true);
    wire.send("POST", "/containers/left/kill").expect(204);
    Awaitility.await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> wire.send("GET", "/containers/left/json").status() == 404);
  }
}
