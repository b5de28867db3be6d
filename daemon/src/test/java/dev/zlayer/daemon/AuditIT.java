package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who changed what, as the agent keeps it. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class AuditIT {
  private static final String MASTER = "0123456789abcdef0123456789abcdef";

  private Node node;
  private Daemon daemon;
  private Rest rest;
  private int port;

  @BeforeEach
  void open() throws Exception {
    node = new Node();
    Path file = node.directory.resolve("master");
    Files.createFile(
        file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    Files.writeString(file, MASTER);
    node.with("listen", "127.0.0.1:0").with("token_file", file.toString());
    start();
  }

  private void start() throws InterruptedException {
    daemon = node.daemon();
    port = Integer.parseInt(daemon.address().orElseThrow().replaceAll(".*:", ""));
    rest = node.rest();
  }

  private void stop() {
    rest.close();
    daemon.close();
  }

  @AfterEach
  void close() throws Exception {
    stop();
    node.close();
  }

  private List<Json> records() throws InterruptedException {
    return rest.get("/audit").expect(200).lines();
  }

  private static String line(Json record) {
    return "%s %s %s %s %d"
        .formatted(
            record.at("who").string().orElse("?"),
            record.at("method").string().orElse("?"),
            record.at("route").string().orElse("?"),
            JsonText.print(record.at("object")),
            record.at("status").integer().orElse(0L));
  }

  @Test
  void everyChangeIsRecordedWithItsCallerAndNoReading() throws Exception {
    Node.loadImage(rest);
    String id =
        rest.post(
                "/containers",
                "{\"name\":\"web\",\"image\":\"%s\",\"pull\":\"never\",\"command\":[\"sleep\",\"1000\"],\"env\":{\"A\":\"in-a-body\"}}"
                    .formatted(Node.IMAGE))
            .expect(201)
            .json()
            .at("id")
            .string()
            .orElseThrow();
    rest.put("/secrets/key", "hidden-value".getBytes(StandardCharsets.UTF_8)).expect(200);
    rest.get("/containers/web").expect(200);
    rest.post("/containers/web/start").expect(204);
    try (var _ = rest.socket("/containers/web/exec/ws?command=cat&env=A%3Din-a-query")) {
      // opened and left
    }
    rest.delete("/containers/nobody").expect(404);
    String token =
        rest.post("/tokens", "{\"deployment\":\"shop\",\"name\":\"ci\"}")
            .expect(201)
            .json()
            .at("secret")
            .string()
            .orElseThrow();
    try (Rest ci = Rest.with(token, port);
        Rest master = Rest.with(MASTER, port)) {
      ci.get("/deployments").expect(200);
      ci.delete("/deployments/other").expect(403);
      master.delete("/containers/web?force=true").expect(204);
    }

    String user = "user root ";
    assertThat(records())
        .extracting(AuditIT::line)
        .containsExactly(
            user + "POST /images/load {} 200",
            user + "POST /containers {} 201",
            user + "PUT /secrets/{name} {\"name\":\"key\"} 200",
            user + "POST /containers/{ref}/start {\"ref\":\"web\"} 204",
            user + "GET /containers/{ref}/exec/ws {\"ref\":\"web\"} 101",
            user + "DELETE /containers/{ref} {\"ref\":\"nobody\"} 404",
            user + "POST /tokens {} 201",
            "token ci DELETE /deployments/{name} {\"name\":\"other\"} 403",
            "token_file DELETE /containers/{ref} {\"ref\":\"web\"} 204");
    assertThat(records().getFirst().at("listener").string()).contains("unix:" + node.socket());
    assertThat(records().getLast().at("listener").string()).contains("tcp");
    assertThat(records().getLast().at("remote").string().orElse("")).startsWith("127.0.0.1:");
    assertThat(rest.get("/audit").text())
        .doesNotContain("hidden-value")
        .doesNotContain("in-a-body")
        .doesNotContain("in-a-query")
        .doesNotContain(token)
        .doesNotContain(MASTER)
        .doesNotContain(id);
    assertThat(rest.get("/events").text()).doesNotContain("\"audit");
  }

  @Test
  void refusedCallersAreRecordedAtABoundedRate() throws Exception {
    for (int i = 0; i < 200; i++) {
      try (Rest guess = Rest.with("guess-number-" + i, port)) {
        guess.delete("/deployments/shop").expect(401);
      }
    }
    List<Json> refused =
        records().stream().filter(one -> one.at("status").integer().orElse(0L) == 401).toList();
    assertThat(refused).hasSizeBetween(20, 40);
    assertThat(refused)
        .allSatisfy(
            one -> {
              assertThat(one.at("who").string()).contains("unknown");
              assertThat(one.at("remote").string().orElse("")).startsWith("127.0.0.1:");
            });
    assertThat(rest.get("/audit").text()).doesNotContain("guess-number");
  }

  @Test
  void onlyTheNewestAreKeptAcrossRestarts() throws Exception {
    stop();
    node.with("audit_records", "1000");
    start();
    for (int i = 0; i < 1010; i++) {
      rest.delete("/secrets/absent-" + i).expect(404);
    }
    stop();
    start();
    rest.delete("/secrets/last").expect(404);
    List<Json> kept = records();
    assertThat(kept).hasSize(1000);
    assertThat(line(kept.getLast())).contains("\"last\"");
    assertThat(line(kept.getFirst())).contains("\"absent-11\"");
    assertThat(kept)
        .extracting(one -> one.at("seq").integer().orElseThrow())
        .isSorted()
        .last()
        .isEqualTo(1011L);
    String now = java.time.Instant.now().plusSeconds(60).toString();
    assertThat(rest.get("/audit?since=" + now).expect(200).lines()).isEmpty();
    assertThat(rest.get("/audit?since=1h").expect(200).lines()).hasSize(1000);
  }
}
