package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.host.http.WebSocket;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Scoped tokens, tried by callers that hold one. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class TokensIT {
  private static final String MASTER = "0123456789abcdef0123456789abcdef";
  private static final String FILE =
      """
      version: v1
      deployment: %s
      services:
        web:
          image: {name: %s}
          command: {args: [sleep, "1000"]}
          stop_signal: KILL
          scale: {mode: manual, replicas: %d}
        report:
          rtype: job
          image: {name: %2$s}
          command: ["true"]
        nightly:
          rtype: cron
          schedule: "0 3 * * *"
          image: {name: %2$s}
          command: ["true"]
      """;

  private static Node node;
  private static Daemon daemon;
  private static Rest rest;
  private static int port;
  private static String neighbour;
  private static String execution;

  @BeforeAll
  static void open() throws Exception {
    node = new Node();
    Path file = node.directory.resolve("master");
    Files.createFile(
        file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    Files.writeString(file, MASTER);
    node.with("listen", "127.0.0.1:0").with("token_file", file.toString());
    daemon = node.daemon();
    port = Integer.parseInt(daemon.address().orElseThrow().replaceAll(".*:", ""));
    rest = node.rest();
    Node.loadImage(rest);
    for (String name : List.of("shop", "neighbour")) {
      up(rest, name, file(name, 1)).expect(200);
      rest.put("/secrets/key?deployment=" + name, bytes("value of " + name)).expect(200);
    }
    rest.put("/secrets/everybodys", bytes("value of all")).expect(200);
    neighbour = container("neighbour");
    execution =
        rest.post("/jobs/neighbour/report/executions").expect(201).json().at("id").string().get();
    rest.get("/executions/" + execution + "/wait?timeout=60s").expect(200);
  }

  @AfterAll
  static void close() throws Exception {
    if (rest != null) {
      rest.delete("/deployments/shop?wait=30s");
      rest.delete("/deployments/neighbour?wait=30s");
      rest.close();
    }
    if (daemon != null) {
      daemon.close();
    }
    if (node != null) {
      node.close();
    }
  }

  private static String file(String name, int replicas) {
    return FILE.formatted(name, Node.IMAGE, replicas);
  }

  private static Rest.Reply up(Rest by, String name, String file) throws InterruptedException {
    return by.put("/deployments/%s?wait=60s".formatted(name), bytes(file));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String container(String deployment) throws InterruptedException {
    return rest.get("/containers?service=web&deployment=" + deployment)
        .expect(200)
        .json()
        .items()
        .getFirst()
        .at("id")
        .string()
        .orElseThrow();
  }

  private static String create(String json) throws InterruptedException {
    return rest.post("/tokens", json).expect(201).json().at("secret").string().orElseThrow();
  }

  private static Rest holder(String secret) {
    return Rest.with(secret, port);
  }

  /** Each route of the description with a path that is the neighbour's. */
  private record Operation(String method, String path, String scope, boolean readOnly) {
    static List<Operation> all() throws InterruptedException {
      var all = new ArrayList<Operation>();
      rest.get("/openapi.json")
          .expect(200)
          .json()
          .at("paths")
          .members()
          .forEach(
              (path, operations) ->
                  operations
                      .members()
                      .forEach((method, about) -> all.add(of(method, path, about))));
      assertThat(all).hasSizeGreaterThan(60);
      return all;
    }

    private static Operation of(String method, String path, Json about) {
      String foreign =
          path.replace("/api/v1", "")
              .replace("/secrets/{name}", "/secrets/key")
              .replace("{name}", "neighbour")
              .replace("{deployment}", "neighbour")
              .replace("{service}", "web")
              .replace("{job}", "report")
              .replace("{host}", "neighbour.test")
              .replace("{ref}", neighbour)
              .replace("{id}", execution)
              .replace("{path}", "tmp/result");
      return new Operation(
          method.toUpperCase(Locale.ROOT),
          foreign,
          about.at("x-deployment-token").string().orElseThrow(),
          about.at("x-read-only").bool().orElseThrow());
    }

    int status(Rest by, String query) throws InterruptedException {
      try (HttpResponse response =
          by.open(HttpRequest.of(method, "/api/v1" + path + query).with("Accept", "text/html"))) {
        return response.status();
      }
    }
  }

  @Test
  void aTokenOfADeploymentReachesNothingElseByAnyRoute() throws Exception {
    try (Rest shop = holder(create("{\"deployment\":\"shop\",\"name\":\"walk\"}"))) {
      for (Operation route : Operation.all()) {
        switch (route.scope()) {
          case "denied", "path" ->
              assertThat(route.status(shop, "")).as("%s", route).isEqualTo(403);
          case "lookup" -> assertThat(route.status(shop, "")).as("%s", route).isEqualTo(404);
          case "any" -> assertThat(route.status(shop, "")).as("%s", route).isEqualTo(200);
          case "parameter" -> {
            assertThat(route.status(shop, "?deployment=neighbour")).as("%s", route).isEqualTo(403);
            if (route.method().equals("GET")) {
              assertThat(shop.get(route.path()).expect(200).text())
                  .as("%s", route)
                  .doesNotContain("neighbour")
                  .doesNotContain("everybodys");
            }
          }
          default -> throw new AssertionError(route);
        }
      }
      assertThat(shop.get("/containers").json().items()).hasSize(1);
      assertThat(shop.get("/deployments").json().items()).hasSize(1);
      assertThat(shop.get("/secrets").text()).contains("\"shop\"").doesNotContain("value of");
      assertThat(shop.get("/events").text()).contains("shop/web");
      String own = container("shop");
      assertThat(shop.get("/containers/" + own).expect(200).text()).contains("shop");
      shop.get("/containers/" + own + "/logs").expect(200);
      String begun =
          shop.post("/jobs/shop/report/executions").expect(201).json().at("id").string().get();
      shop.get("/executions/" + begun + "/wait?timeout=60s").expect(200);
      shop.put("/secrets/more", bytes("x")).expect(200);
      assertThat(rest.get("/secrets?deployment=shop").text()).contains("\"more\"");
      shop.delete("/secrets/more").expect(204);
    }
    assertThat(rest.get("/containers/" + neighbour).expect(200).text()).contains("running");
  }

  @Test
  void aReadOnlyTokenMayDoWhatTheReadOnlySocketOffers() throws Exception {
    try (Rest reader = holder(create("{\"read_only\":true,\"name\":\"reader\"}"))) {
      for (Operation route : Operation.all()) {
        if (!route.readOnly()) {
          assertThat(route.status(reader, "")).as("%s", route).isEqualTo(403);
        } else if (!route.path().contains("?")) {
          assertThat(route.status(reader, "")).as("%s", route).isNotIn(401, 403);
        }
      }
    }
    assertThat(rest.get("/deployments/neighbour").expect(200).json().at("revision").integer())
        .contains(1L);
  }

  @Test
  void aTokenOfADeploymentGainsNothingByItsFileOrByExec() throws Exception {
    try (Rest shop = holder(create("{\"deployment\":\"shop\"}"))) {
      up(shop, "shop", file("shop", 2)).expect(200);
      up(shop, "shop", file("shop", 1)).expect(200);
      String plain = file("shop", 1);
      for (String more :
          List.of(
              plain.replace(
                  "stop_signal: KILL",
                  "stop_signal: KILL\n    storage: [{type: bind, source: /, target: /host}]"),
              plain.replace("stop_signal: KILL", "stop_signal: KILL\n    privileged: true"),
              plain.replace("stop_signal: KILL", "stop_signal: KILL\n    env: {A: $S:everybodys}"),
              plain + "  more:\n    image: {name: %s}\n".formatted(Node.IMAGE))) {
        Rest.Reply refused = up(shop, "shop", more);
        assertThat(refused.status()).as(refused.text()).isEqualTo(403);
        assertThat(refused.text()).contains("use one with all rights");
      }
      // relative paths of the file begin where they did
      shop.put("/deployments/shop?directory=/etc&wait=60s", bytes(plain)).expect(200);
      assertThat(rest.get("/deployments/shop").json().at("directory").string()).contains("/");
      String ref = container("shop");
      shop.post("/containers/%s/exec".formatted(ref), "{\"command\":[\"true\"]}").expect(200);
      shop.post("/containers/%s/exec".formatted(ref), "{\"command\":[\"id\"],\"privileged\":true}")
          .expect(403);
      shop.get("/containers/%s/exec/ws?command=id&privileged=true".formatted(ref)).expect(403);
      shop.put("/deployments/brandnew", bytes(file("brandnew", 1))).expect(403);
    }
    try (Rest fresh = holder(create("{\"deployment\":\"brandnew\"}"))) {
      fresh.put("/deployments/brandnew", bytes(file("brandnew", 1))).expect(403);
    }
  }

  @Test
  void onlyItsHashIsKeptAndItWorksAfterARestartOfTheStore() throws Exception {
    String secret = create("{\"read_only\":true,\"name\":\"hashed\"}");
    assertThat(rest.get("/tokens").expect(200).text()).contains("hashed").doesNotContain(secret);
    assertThat(rest.get("/events").text() + rest.get("/audit").text()).doesNotContain(secret);
    for (String name : List.of("state.db", "state.db-wal")) {
      Path file = node.directory.resolve(name);
      if (Files.exists(file)) {
        assertThat(new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1))
            .doesNotContain(secret.substring(secret.lastIndexOf('_') + 1));
      }
    }
    String forged = secret.substring(0, secret.length() - 4) + "AAAA";
    for (String wrong : List.of(forged, secret.substring(0, 20), "zlt_", secret + "A", "")) {
      try (Rest guess = holder(wrong)) {
        assertThat(guess.get("/ping").status()).as(wrong).isEqualTo(401);
      }
    }
    try (Rest master = holder(MASTER);
        Rest reader = holder(secret)) {
      reader.get("/containers").expect(200);
      master.delete("/tokens/hashed").expect(204);
      reader.get("/containers").expect(401);
      master.delete("/tokens/hashed").expect(404);
    }
  }

  @Test
  void onlyCallersWithAllRightsMakeTokens() throws Exception {
    for (String scope : List.of("{\"read_only\":true}", "{\"deployment\":\"shop\"}")) {
      try (Rest limited = holder(create(scope))) {
        limited.post("/tokens", "{\"read_only\":true}").expect(403);
        limited.get("/tokens").expect(403);
        limited.delete("/tokens/walk").expect(403);
      }
    }
    for (String wrong :
        List.of(
            "{}",
            "{\"read_only\":true,\"deployment\":\"shop\"}",
            "{\"deployment\":\"standalone\"}",
            "{\"deployment\":\"../x\"}",
            "{\"read_only\":true,\"name\":\"a b\"}",
            "{\"read_only\":true,\"expires\":\"0s\"}")) {
      assertThat(rest.post("/tokens", wrong).status()).as(wrong).isEqualTo(422);
    }
    create("{\"read_only\":true,\"name\":\"twice\"}");
    rest.post("/tokens", "{\"read_only\":true,\"name\":\"twice\"}").expect(409);
  }

  @Test
  void removalEndsStreamsTerminalsAndConnectionsAtOnce() throws Exception {
    String secret = create("{\"deployment\":\"shop\",\"name\":\"leaver\"}");
    try (Rest shop = holder(secret);
        HttpResponse events = shop.open(sse());
        HttpResponse logs =
            shop.open("/containers/%s/logs?follow=true".formatted(container("shop")));
        WebSocket shell =
            shop.socket("/containers/%s/exec/ws?command=cat".formatted(container("shop")))) {
      assertThat(List.of(events.status(), logs.status())).containsOnly(200);
      List<CompletableFuture<Boolean>> ends =
          List.of(
              CompletableFuture.supplyAsync(() -> ends(events.body())),
              CompletableFuture.supplyAsync(() -> ends(logs.body())),
              CompletableFuture.supplyAsync(() -> ends(shell)));
      assertThat(ends).noneMatch(CompletableFuture::isDone);

      rest.delete("/tokens/leaver").expect(204);

      for (CompletableFuture<Boolean> end : ends) {
        assertThat(end.get(20, TimeUnit.SECONDS)).isTrue();
      }
      shop.get("/containers").expect(401);
    }
  }

  @Test
  void expiryEndsThemToo() throws Exception {
    String secret = create("{\"read_only\":true,\"name\":\"brief\",\"expires\":\"3s\"}");
    try (Rest brief = holder(secret);
        HttpResponse events = brief.open(sse())) {
      assertThat(events.status()).isEqualTo(200);
      assertThat(CompletableFuture.supplyAsync(() -> ends(events.body())).get(30, TimeUnit.SECONDS))
          .isTrue();
      Awaitility.await()
          .atMost(Duration.ofSeconds(20))
          .untilAsserted(() -> assertThat(brief.get("/ping").status()).isEqualTo(401));
    }
    assertThat(rest.get("/tokens").text()).contains("\"brief\"", "\"expired\":true");
  }

  private static HttpRequest sse() {
    return HttpRequest.get("/api/v1/events").with("Accept", "text/event-stream");
  }

  /** Reads until the other side ends it, one way or the other. */
  private static boolean ends(InputStream stream) {
    try {
      stream.transferTo(java.io.OutputStream.nullOutputStream());
      return true;
    } catch (IOException _) {
      return true;
    }
  }

  private static boolean ends(WebSocket socket) {
    try {
      while (!(socket.receive() instanceof WebSocket.Message.Closed)) {
        // what it prints
      }
      return true;
    } catch (InterruptedException e) {
      return false;
    } catch (RuntimeException _) {
      return true;
    }
  }
}
