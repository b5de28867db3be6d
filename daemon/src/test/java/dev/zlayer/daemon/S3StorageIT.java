package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.s3.FlakyProxy;
import dev.zlayer.testkit.s3.S3Server;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Buckets as storage of real containers, through the REST API. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class S3StorageIT {
  private static final String BUCKET = "stored";

  private static S3Server server;
  private static Node node;
  private static Daemon daemon;
  private static Rest rest;

  @BeforeAll
  static void open() throws Exception {
    server = S3Server.open(BUCKET);
    node = new Node();
    daemon = Daemon.open(node.configured(), System.getenv(), Node.log());
    rest = node.rest();
    Node.loadImage(rest);
    secret("keys", S3Server.SECRET_KEY);
    secret("wrong", "another-secret");
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
    assertThat(rest.delete("/deployments/stored?wait=30s").status()).isIn(200, 404);
    Awaitility.await()
        .untilAsserted(() -> assertThat(rest.get("/containers?all=true").json().items()).isEmpty());
    assertThat(server.unfinishedUploads(BUCKET)).isZero();
    Path own = node.directory.resolve("volumes/.anonymous");
    if (Files.exists(own)) {
      // a removed container leaves the list before its volumes are deleted
      Awaitility.await().untilAsserted(() -> assertThat(own).isEmptyDirectory());
    }
  }

  @Test
  void aJobReadsObjectsAndItsFilesAreInTheBucketAfterwards() throws Exception {
    put("in/deep/question", "how much?");
    Json end =
        run(
            "cat /data/deep/question; echo 42 > /data/deep/answer; echo top > /data/top; id -u",
            bucket("prefix: in, credentials: keys"),
            "user: '1234:1234'");

    assertThat(end.at("status").string()).as(end.toString()).contains("completed");
    assertThat(output(end)).isEqualTo("how much?1234\n");
    assertThat(content("in/deep/answer")).isEqualTo("42\n");
    assertThat(content("in/top")).isEqualTo("top\n");
    assertThat(content("in/deep/question")).isEqualTo("how much?");
    assertThat(logs(end))
        .containsExactly(
            "pull storage[0] pulled 1 objects with 9 bytes from s3://stored/in/",
            "push storage[0] pushed 3 objects with 16 bytes to s3://stored/in/");
  }

  @Test
  void whatCanOnlyBeReadIsNotPushed() throws Exception {
    put("fixed/file", "content");
    Json end =
        run(
            "cat /data/file; touch /data/new 2>&1; true",
            bucket("prefix: fixed/, readonly: true, credentials: keys"),
            "");

    assertThat(output(end)).as(end.toString()).contains("content").contains("Read-only");
    assertThat(server.keys(BUCKET)).doesNotContain("fixed/new");
    assertThat(logs(end)).hasSize(1);
  }

  @Test
  void whatIsWrongIsNamedAndNoSecretIsShown() throws Exception {
    assertThat(failure("touch /data/x", "credentials: wrong"))
        .contains("pull storage[0]")
        .contains("403")
        .doesNotContain("another-secret");
    assertThat(failure("true", "credentials: missing")).contains("secret missing");
    Json end = run("true", bucket("credentials: keys").replace(BUCKET, "no-such-one"), "");
    assertThat(end.at("reason").string().orElse("")).contains("NoSuchBucket");
  }

  @Test
  void aJobWhoseFilesCannotBePushedKeepsItsResultAndItsFiles(@TempDir Path machine)
      throws Exception {
    secret("changing", S3Server.SECRET_KEY);
    String id =
        begin(
            "until [ -e /machine/go ]; do sleep 0.1; done; echo kept > /data/kept",
            bucket("credentials: changing")
                + ", {type: bind, source: %s, target: /machine}".formatted(machine),
            "job: {retries: 3, deadline: 20s}");
    Awaitility.await().until(() -> show(id).at("status").string().equals(Optional.of("running")));
    secret("changing", "another-secret");
    Files.createFile(machine.resolve("go"));

    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(
            () -> {
              Json pushing = show(id);
              assertThat(pushing.at("status").string()).contains("uploading");
              assertThat(pushing.at("code").integer()).contains(0L);
              assertThat(pushing.toString()).contains("push storage[0]").contains("403");
            });
    assertThat(rest.get("/containers?deployment=stored&all=true").json().items())
        .as("kept with its files")
        .hasSize(1);

    secret("changing", S3Server.SECRET_KEY);
    Json end = await(id);
    assertThat(end.at("status").string()).as(end.toString()).contains("completed");
    assertThat(end.at("attempts").items()).as("it did not run again").hasSize(1);
    assertThat(content("kept")).isEqualTo("kept\n");
  }

  @Test
  void anAgentThatEndsWhilePushingPushesAfterItsNextStart() throws Exception {
    try (var holding = new FlakyProxy(server.port(), FlakyProxy.Fault.HOLD, 1)) {
      String id =
          begin(
              "head -c 3000000 /dev/zero > /data/big",
              bucket("prefix: held, credentials: keys")
                  .replace(server.endpoint(), holding.endpoint()),
              "");
      Awaitility.await().until(() -> holding.faults() == 1);
      rest.close();
      daemon.close();
      assertThat(server.keys(BUCKET)).doesNotContain("held/big");

      daemon = node.daemon();
      rest = node.rest();
      Json end = await(id);
      assertThat(end.at("status").string()).as(end.toString()).contains("completed");
      assertThat(server.content(BUCKET, "held/big")).hasSize(3000000);
    }
  }

  @Test
  void aServiceReadsACopyAndMayNotWriteOne() throws Exception {
    put("site/index.html", "welcome");
    assertThat(
            deploy("service", "true", bucket("prefix: site, credentials: keys"), "")
                .expect(501)
                .text())
        .contains("services.main.storage[0].readonly: copies of replicas would");
    var _ =
        deploy(
            "service",
            "cat /data/index.html; exec sleep 1000",
            bucket("prefix: site, readonly: true, credentials: keys"),
            "stop_signal: SIGKILL");
    Awaitility.await()
        .untilAsserted(
            () -> {
              List<Json> running = rest.get("/containers?deployment=stored").json().items();
              assertThat(running).hasSize(1);
              String id = running.getFirst().at("id").string().orElseThrow();
              assertThat(rest.get("/containers/" + id + "/logs?format=raw").text())
                  .isEqualTo("welcome");
            });
  }

  private static void secret(String name, String secretKey) throws Exception {
    String keys =
        "{\"access_key\":\"%s\",\"secret_key\":\"%s\"}".formatted(S3Server.ACCESS_KEY, secretKey);
    rest.put("/secrets/" + name, keys.getBytes(StandardCharsets.UTF_8)).expect(200);
  }

  private static void put(String key, String content) {
    server.put(BUCKET, key, content.getBytes(StandardCharsets.UTF_8));
  }

  private static String content(String key) throws Exception {
    return new String(server.content(BUCKET, key), StandardCharsets.UTF_8);
  }

  private static String bucket(String more) {
    return "{type: s3, bucket: %s, target: /data, endpoint: '%s', %s}"
        .formatted(BUCKET, server.endpoint(), more);
  }

  private static String failure(String command, String more) throws Exception {
    Json end = run(command, bucket(more), "");
    assertThat(end.at("status").string()).as(end.toString()).contains("failed");
    assertThat(end.toString()).doesNotContain(S3Server.SECRET_KEY);
    return end.at("reason").string().orElseThrow();
  }

  private static Json run(String command, String storage, String more) throws Exception {
    return await(begin(command, storage, more));
  }

  private static String begin(String command, String storage, String more) throws Exception {
    Rest.Reply reply = deploy("job", command, storage, more);
    assertThat(reply.status()).as(reply.text()).isIn(200, 202);
    return rest.post("/jobs/stored/main/executions", "{}")
        .expect(201)
        .json()
        .at("id")
        .string()
        .orElseThrow();
  }

  private static Rest.Reply deploy(String type, String command, String storage, String more)
      throws Exception {
    String file =
        """
        version: v1
        deployment: stored
        services:
          main:
            rtype: %s
            image: {name: "%s", pull_policy: never}
            network_mode: none
            %s
            command: [sh, -c, "%s"]
            storage: [%s]
        """
            .formatted(type, Node.IMAGE, more, command, storage);
    return rest.put("/deployments/stored", file.getBytes(StandardCharsets.UTF_8));
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

  private static List<String> logs(Json end) {
    return end.at("attempts").items().stream()
        .flatMap(attempt -> attempt.at("steps").items().stream())
        .map(step -> step.at("step").string().orElse("") + " " + step.at("log").string().orElse(""))
        .toList();
  }
}
