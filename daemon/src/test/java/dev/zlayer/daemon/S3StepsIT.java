package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.s3.FlakyProxy;
import dev.zlayer.testkit.s3.S3Server;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files between a real store and the volumes of real containers, through the REST API. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class S3StepsIT {
  private static final String BUCKET = "things";
  private static final String FROM_ENV =
      "credentials: {access_key: '$E:S3_ACCESS', secret_key: '$E:S3_SECRET'}";
  private static final String FROM_SECRETS =
      "credentials: {access_key: '$S:s3/access', secret_key: '$S:s3/secret'}";

  private static S3Server server;
  private static Node node;
  private static Daemon daemon;
  private static Rest rest;

  @TempDir Path machine;

  @BeforeAll
  static void open() throws Exception {
    server = S3Server.open(BUCKET);
    node = new Node();
    var env = new HashMap<>(System.getenv());
    env.putAll(Map.of("S3_ACCESS", S3Server.ACCESS_KEY, "S3_SECRET", S3Server.SECRET_KEY));
    daemon = Daemon.open(node.configured(), env, Node.log());
    rest = node.rest();
    Node.loadImage(rest);
    String keys =
        "{\"access\":\"%s\",\"secret\":\"%s\"}".formatted(S3Server.ACCESS_KEY, S3Server.SECRET_KEY);
    rest.put("/secrets/s3", keys.getBytes(StandardCharsets.UTF_8)).expect(200);
  }

  @AfterAll
  static void close() throws Exception {
    try (var _ = server;
        var _ = node;
        var _ = daemon;
        var _ = rest) {
      // in this order, from the last to the first
    }
  }

  @AfterEach
  void nothingIsLeft() throws Exception {
    Awaitility.await()
        .untilAsserted(() -> assertThat(rest.get("/containers?all=true").json().items()).isEmpty());
    assertThat(server.unfinishedUploads(BUCKET)).isZero();
    for (String place : List.of("containers", "snapshots")) {
      // a removed container leaves the list before its directory is deleted
      Awaitility.await().untilAsserted(() -> assertThat(directories(place)).as(place).isEmpty());
    }
  }

  private static List<Path> directories(String place) throws IOException {
    try (Stream<Path> left = Files.list(node.directory.resolve(place))) {
      return left.filter(path -> !path.getFileName().toString().startsWith("."))
          .filter(Files::isDirectory)
          .toList();
    }
  }

  @Test
  void filesAndTreesGoThereAndComeBack() throws Exception {
    Json end =
        run(
            "cmp /data/big /data/big-again && cat /data/back/a /data/back/deep/b /machine/one.txt"
                + " && ls /data/back",
            """
            - {id: make, uses: init.run, with: {command: "mkdir -p /data/tree/deep; \
            echo hello > /data/tree/a; echo below > /data/tree/deep/b; ln -s a /data/tree/link; \
            echo single > /data/one; head -c 20000000 /dev/urandom > /data/big"}}
            """
                + push("tree", "/data/tree", "tree", FROM_ENV)
                + push("file", "/data/one", "files/one.txt", FROM_SECRETS)
                + push("parts", "/data/big", "files/big", FROM_SECRETS)
                + pull("back", "tree/", "/data/back", FROM_SECRETS)
                + pull("big", "files/big", "/data/big-again", FROM_ENV)
                + pull("bind", "files/one.txt", "/machine/", FROM_ENV));

    assertThat(end.at("status").string()).as(end.toString()).contains("completed");
    assertThat(output(end)).isEqualTo("hello\nbelow\nsingle\na\ndeep\n");
    assertThat(machine.resolve("one.txt")).hasContent("single");
    assertThat(server.keys(BUCKET)).contains("tree/a", "tree/deep/b", "files/one.txt", "files/big");
    assertThat(server.keys(BUCKET)).doesNotContain("tree/link");
    assertThat(step(end, "tree").at("log").string().orElseThrow())
        .startsWith("pushed 2 objects with 12 bytes to s3://things/tree")
        .contains("left out 1 that are no files: tree/link");
    assertThat(step(end, "parts").at("log").string().orElseThrow())
        .contains("1 objects with 20000000 bytes");
    assertThat(step(end, "big").at("log").string().orElseThrow())
        .doesNotContain("without a checksum");
  }

  @Test
  void whatIsPulledBelongsToTheUser() throws Exception {
    server.put(BUCKET, "owned/file", "mine".getBytes(StandardCharsets.UTF_8));
    Json end =
        run(
            "id -u; stat -c '%u:%g %a' /data/own/file; cat /data/own/file",
            pull("own", "owned/", "/data/own", FROM_ENV), "user: '1234:5678'");
    assertThat(output(end)).as(end.toString()).isEqualTo("1234\n1234:5678 644\nmine");
  }

  @Test
  void aServiceStartsWithWhatWasPulled() throws Exception {
    server.put(BUCKET, "site/index.html", "welcome".getBytes(StandardCharsets.UTF_8));
    deploy(
        "site",
        "service",
        "cat /data/site/index.html; exec sleep 1000",
        pull("content", "site/", "/data/site", FROM_SECRETS),
        "stop_signal: SIGKILL");
    try {
      Awaitility.await()
          .untilAsserted(
              () -> {
                List<Json> running = rest.get("/containers?deployment=site").json().items();
                assertThat(running).hasSize(1);
                String id = running.getFirst().at("id").string().orElseThrow();
                assertThat(rest.get("/containers/" + id + "/logs?format=raw").text())
                    .isEqualTo("welcome");
              });
    } finally {
      assertThat(rest.delete("/deployments/site").status()).isIn(200, 202, 204);
    }
  }

  @Test
  void aChangedByteIsFoundAndTheNextTryIsRight() throws Exception {
    var content = new byte[3 << 20];
    new java.util.Random(3).nextBytes(content);
    server.put(BUCKET, "changed", content);
    try (var once = new FlakyProxy(server.port(), FlakyProxy.Fault.CHANGE, 1)) {
      Json failed =
          run(
              "true",
              pull("get", "changed", "/data/changed", FROM_ENV)
                  .replace(server.endpoint(), once.endpoint()));
      assertThat(failed.at("reason").string().orElse(""))
          .contains("step 'get'")
          .contains("s3://things/changed")
          .contains("checksum differs");
      assertThat(output(run("ls /data", ""))).doesNotContain("changed");
    }
    try (var once = new FlakyProxy(server.port(), FlakyProxy.Fault.CHANGE, 1)) {
      Json end =
          run(
              "sha256sum < /data/changed",
              pull("get", "changed", "/data/changed", FROM_ENV)
                  .replace(server.endpoint(), once.endpoint())
                  .replace("id: get", "id: get, retry: 1"));
      assertThat(end.at("status").string()).as(end.toString()).contains("completed");
      assertThat(results(end)).containsExactly("failed", "succeeded");
      byte[] sum = java.security.MessageDigest.getInstance("SHA-256").digest(content);
      assertThat(output(end)).startsWith(java.util.HexFormat.of().formatHex(sum));
    }
  }

  @Test
  void whatIsWrongIsNamedAndNoSecretIsShown() throws Exception {
    String wrong = "credentials: {access_key: '$E:S3_ACCESS', secret_key: not-the-secret}";
    String unknown = "credentials: {access_key: '$E:S3_ACCESS', secret_key: '$S:no-such'}";
    String unset = "credentials: {access_key: '$E:NO_SUCH', secret_key: '$S:s3/secret'}";
    assertThat(reason(pull("a", "owned/", "/data/x", wrong))).contains("403").contains("step 'a'");
    assertThat(reason(push("a", "/etc/passwd", "x", wrong)))
        .contains("403")
        .doesNotContain("not-the-secret");
    assertThat(reason(pull("a", "x", "/data/x", unknown))).contains("secret no-such");
    assertThat(reason(pull("a", "x", "/data/x", unset))).contains("variable NO_SUCH");
    assertThat(reason(pull("a", "nothing", "/data/x", FROM_ENV)))
        .contains("there is no object s3://things/nothing");
    assertThat(reason(pull("a", "nothing/", "/data/x", FROM_ENV)))
        .contains("there is nothing at s3://things/nothing/");
    assertThat(
            reason(push("a", "/etc/passwd", "x", FROM_ENV).replace(BUCKET + ",", "no-such-one,")))
        .contains("NoSuchBucket");
    assertThat(reason(pull("a", "x/", "/data/x", FROM_ENV).replace(BUCKET + ",", "no-such-one,")))
        .contains("NoSuchBucket");
    assertThat(reason(push("a", "/no/such/file", "x", FROM_ENV))).contains("/no/such/file");
    assertThat(reason(pull("a", "x", "/tmp/x", FROM_ENV)))
        .contains("destination '/tmp/x' is in no named volume");
  }

  @Test
  void aStoreThatIsSilentIsGivenUp() throws Exception {
    try (var silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      String step =
          pull("get", "x", "/data/x", FROM_ENV)
              .replace(server.endpoint(), "http://127.0.0.1:" + silent.getLocalPort());
      Json late = run("true", step.replace("id: get", "id: get, timeout: 1s"));
      assertThat(results(late)).containsExactly("timed_out");
      assertThat(late.at("reason").string().orElse("")).contains("init step 'get'").contains("1s");

      String id = begin("true", step, "");
      Awaitility.await().until(() -> results(show(id)).contains("running"));
      rest.post("/executions/" + id + "/cancel").expect(200);
      assertThat(await(id).at("status").string()).contains("cancelled");
    }
  }

  @Test
  void partsOfAnUploadThatIsLateAreGivenUp() throws Exception {
    try (var holding = new FlakyProxy(server.port(), FlakyProxy.Fault.HOLD, 1)) {
      Json late =
          run(
              "true",
              """
              - {id: make, uses: init.run, with: {command: "head -c 30000000 /dev/zero > /data/big"}}
              """
                  + push("put", "/data/big", "never", FROM_ENV)
                      .replace(server.endpoint(), holding.endpoint())
                      .replace("id: put", "id: put, timeout: 6s"));
      assertThat(results(late)).containsExactly("succeeded", "timed_out");
      assertThat(holding.faults()).isEqualTo(1);
      assertThat(server.keys(BUCKET)).doesNotContain("never");
    }
  }

  private static String push(String id, String source, String key, String credentials) {
    return step(id, "init.s3_push", "source: " + source + ", key: " + key, credentials);
  }

  private static String pull(String id, String key, String destination, String credentials) {
    return step(id, "init.s3_pull", "key: " + key + ", destination: " + destination, credentials);
  }

  private static String step(String id, String uses, String what, String credentials) {
    return "- {id: %s, uses: %s, with: {bucket: %s, %s, endpoint: '%s', %s}}\n"
        .formatted(id, uses, BUCKET, what, server.endpoint(), credentials);
  }

  private Json run(String command, String steps) throws Exception {
    return run(command, steps, "");
  }

  private Json run(String command, String steps, String more) throws Exception {
    return await(begin(command, steps, more));
  }

  private String reason(String steps) throws Exception {
    Json end = run("true", steps);
    assertThat(end.at("status").string()).as(end.toString()).contains("failed");
    assertThat(end.toString()).doesNotContain(S3Server.SECRET_KEY);
    return end.at("reason").string().orElseThrow();
  }

  private String begin(String command, String steps, String more) throws Exception {
    deploy("copies", "job", command, steps, more);
    return rest.post("/jobs/copies/main/executions", "{}")
        .expect(201)
        .json()
        .at("id")
        .string()
        .orElseThrow();
  }

  private void deploy(String name, String type, String command, String steps, String more)
      throws Exception {
    String file =
        """
        version: v1
        deployment: %s
        services:
          main:
            rtype: %s
            image: {name: "%s", pull_policy: never}
            network_mode: none
            %s
            command: [sh, -c, "%s"]
            storage:
              - {type: named, name: s3-data, target: /data}
              - {type: bind, source: %s, target: /machine}
            init:
              steps: %s
        """
            .formatted(
                name,
                type,
                Node.IMAGE,
                more,
                command,
                machine,
                steps.isEmpty() ? "[]" : "\n" + steps.indent(8).stripTrailing());
    Rest.Reply reply = rest.put("/deployments/" + name, file.getBytes(StandardCharsets.UTF_8));
    assertThat(reply.status()).as(reply.text()).isIn(200, 202);
  }

  private static Json show(String id) throws InterruptedException {
    return rest.get("/executions/" + id).expect(200).json();
  }

  private static Json await(String id) throws InterruptedException {
    return rest.get("/executions/" + id + "/wait?timeout=50s").expect(200).json();
  }

  private static String output(Json end) throws InterruptedException {
    String id = end.at("id").string().orElseThrow();
    return rest.get("/executions/" + id + "/logs?format=raw").text();
  }

  private static List<Json> steps(Json execution) {
    return execution.at("attempts").items().stream()
        .flatMap(attempt -> attempt.at("steps").items().stream())
        .toList();
  }

  private static Json step(Json end, String id) {
    return steps(end).stream()
        .filter(step -> step.at("step").string().orElse("").equals(id))
        .findFirst()
        .orElseThrow();
  }

  private static List<String> results(Json execution) {
    return steps(execution).stream().map(step -> step.at("result").string().orElse("")).toList();
  }
}
