package dev.zlayer.daemon;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.WebSocket;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FreePorts;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import dev.zlayer.testkit.registry.LocalRegistry;
import dev.zlayer.testkit.registry.LocalRegistry.Options;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/**
 * Every route of the description, with an effect that is seen. The last test asks the agent's own
 * figures which routes have answered well, so a new route without a line here is found.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.DOCKER_REGISTRY,
  Fact.BUILDAH,
  Fact.BUSYBOX,
  Fact.HAPROXY
})
class EveryRouteIT {
  private static final String SHOP =
      """
      version: v1
      deployment: shop
      services:
        web:
          image: {name: %s}
          command: {args: [sleep, "%d"]}
          stop_signal: KILL
          scale: {mode: manual, replicas: 1}
          storage: [{type: named, name: goods, target: /goods}]
        report:
          rtype: job
          image: {name: %1$s}
          command: [sh, -c, "echo done > /tmp/result; echo reported"]
          job: {artifacts: [/tmp/result]}
        nightly:
          rtype: cron
          schedule: "0 3 * * *"
          image: {name: %1$s}
          command: ["true"]
      """;

  private static Node node;
  private static Daemon daemon;
  private static Rest rest;

  @BeforeAll
  static void open() throws Exception {
    node = new Node();
    node.with("ingress_http", "127.0.0.1:" + FreePorts.take());
    daemon = node.daemon();
    rest = node.rest();
    Node.loadImage(rest);
  }

  @AfterAll
  static void close() throws Exception {
    if (rest != null) {
      rest.delete("/deployments/shop?volumes=true&wait=30s");
      rest.close();
    }
    if (daemon != null) {
      daemon.close();
    }
    if (node != null) {
      node.close();
    }
  }

  private static Json get(String path) throws InterruptedException {
    return rest.get(path).expect(200).json();
  }

  private static void up(int seconds) throws InterruptedException {
    byte[] file = SHOP.formatted(Node.IMAGE, seconds).getBytes(StandardCharsets.UTF_8);
    assertThat(
            rest.put("/deployments/shop?wait=60s", file).expect(200).json().at("outcome").string())
        .contains("stable");
  }

  @Test
  @Order(1)
  void theAgent() throws Exception {
    assertThat(rest.get("/ping").expect(200).text()).startsWith("OK");
    rest.get("/health/live").expect(200);
    assertThat(owners())
        .contains("the state store", "jobs", "schedules", "event meter", "container index");
    assertThat(get("/version").at("version").string()).isPresent();
    assertThat(get("/info").at("data_dir").string()).contains(node.directory.toString());
    assertThat(get("/config").at("data_dir").at("source").string()).isPresent();
    assertThat(get("/openapi.json").at("openapi").string()).isPresent();
    assertThat(rest.bytes("/backup")).as("a tar archive").hasSizeGreaterThan(10_000);
  }

  @Test
  @Order(2)
  void deployments() throws Exception {
    byte[] file = SHOP.formatted(Node.IMAGE, 1000).getBytes(StandardCharsets.UTF_8);
    assertThat(rest.postBytes("/deployments/shop/diff", file).expect(200).text()).contains("web");
    up(1000);
    up(2000);
    assertThat(get("/deployments").items()).hasSize(1);
    assertThat(get("/deployments/shop").at("revision").integer()).contains(2L);
    assertThat(rest.get("/deployments/shop/spec").expect(200).text()).contains("2000");
    assertThat(rest.get("/deployments/shop/spec?revision=1").expect(200).text()).contains("1000");
    rest.post("/deployments/shop/rollback?wait=60s").expect(200);
    assertThat(rest.get("/deployments/shop/spec").expect(200).text()).contains("1000");
    assertThat(get("/deployments/shop/revisions").items()).hasSize(3);
    assertThat(get("/deployments/shop/services").items()).hasSize(1);
    String web = "/deployments/shop/services/web";
    assertThat(get("/ended?deployment=shop").items())
        .extracting(ended -> ended.at("name").string().orElseThrow())
        .containsExactly("shop/web/1@1", "shop/web/1@2");
    assertThat(get(web + "/ended").items())
        .as("replaced by the update and by the rollback")
        .extracting(ended -> ended.at("container").string().orElseThrow())
        .containsExactly("shop/web/1@1", "shop/web/1@2");
    rest.post(web + "/scale", "{\"replicas\":2}").expect(204);
    awaitReady(web, 2);
    rest.post(web + "/stop").expect(204);
    awaitReady(web, 0);
    rest.post(web + "/start").expect(204);
    awaitReady(web, 2);
    Json before = get("/containers?deployment=shop");
    rest.post(web + "/restart").expect(204);
    Awaitility.await()
        .atMost(Rest.TIMEOUT)
        .until(
            () ->
                ids(get("/containers?deployment=shop")).stream().noneMatch(ids(before)::contains));
    rest.post("/deployments/shop/restart").expect(204);
    rest.post("/deployments/shop/stop").expect(204);
    awaitReady(web, 0);
    rest.post("/deployments/shop/start").expect(204);
    awaitReady(web, 2);
    assertThat(owners()).contains("service shop/web");
  }

  private static List<String> owners() throws InterruptedException {
    return rest.get("/health/ready").expect(200).json().at("owners").items().stream()
        .map(owner -> owner.at("name").string().orElseThrow())
        .toList();
  }

  private static List<String> ids(Json containers) {
    return containers.items().stream().map(one -> one.at("id").string().orElseThrow()).toList();
  }

  private static void awaitReady(String service, long replicas) {
    Awaitility.await()
        .atMost(Rest.TIMEOUT)
        .until(() -> get(service).at("ready").integer().orElse(-1L) == replicas);
  }

  @Test
  @Order(3)
  void jobsAndSchedules() throws Exception {
    assertThat(get("/jobs").items()).hasSize(2);
    assertThat(get("/jobs/shop/nightly").at("cron").at("next_run").string()).isPresent();
    Json first = rest.post("/jobs/shop/report/executions", "{}").expect(201).json();
    String id = first.at("id").string().orElseThrow();
    assertThat(get("/executions/" + id + "/wait").at("code").integer()).contains(0L);
    assertThat(get("/executions/" + id).at("status").string()).contains("completed");
    for (String output : List.of("/logs", "/follow")) {
      assertThat(rest.get("/executions/" + id + output).expect(200).text()).contains("reported");
    }
    assertThat(get("/executions/" + id + "/artifacts").items()).hasSize(1);
    assertThat(rest.get("/executions/" + id + "/artifacts/tmp/result").expect(200).text())
        .contains("done");
    assertThat(get("/executions").items()).isNotEmpty();
    rest.post("/executions/" + id + "/cancel").expect(200);
    Json again = rest.post("/executions/" + id + "/retry").expect(201).json();
    String second = again.at("id").string().orElseThrow();
    assertThat(second).isNotEqualTo(id);
    assertThat(get("/executions/" + second + "/wait").at("code").integer()).contains(0L);
    get("/queue");
    rest.post("/cron/shop/nightly/disable").expect(204);
    assertThat(get("/cron").items().getFirst().at("enabled").bool()).contains(false);
    rest.post("/cron/shop/nightly/enable").expect(204);
    assertThat(get("/cron/upcoming?within=2d").items())
        .isNotEmpty()
        .allSatisfy(run -> assertThat(run.at("local").string()).isPresent());
    rest.get("/cron/upcoming?within=1000d").expect(422);
    Json run = rest.post("/cron/shop/nightly/run").expect(201).json();
    get("/executions/" + run.at("id").string().orElseThrow() + "/wait");
  }

  @Test
  @Order(4)
  void containers() throws Exception {
    String echo =
        "{\"image\":\"%s\",\"pull\":\"never\",\"rm\":true,\"command\":[\"echo\",\"ran\"]}";
    assertThat(rest.post("/run", echo.formatted(Node.IMAGE)).expect(200).text()).contains("ran");
    rest.post(
            "/containers",
            "{\"name\":\"one\",\"image\":\"%s\",\"pull\":\"never\",\"command\":[\"sh\",\"-c\",\"echo hi; sleep 1000\"],\"env\":{\"COLOUR\":\"green\",\"API_KEY\":\"hidden-value\"},\"tty\":true,\"stdin_open\":true}"
                .formatted(Node.IMAGE))
        .expect(201);
    rest.post("/containers/one/pause").expect(204);
    assertThat(get("/containers/one").at("container").at("state").string()).contains("paused");
    rest.post("/containers/one/unpause").expect(204);
    Awaitility.await()
        .until(() -> rest.get("/containers/one/logs").expect(200).text().contains("hi"));
    assertThat(
            rest.post("/containers/one/exec", "{\"command\":[\"touch\",\"/made\"]}")
                .expect(200)
                .text())
        .contains("\"code\":0");
    assertThat(get("/containers/one/changes").toString()).contains("/made");
    get("/containers/one/ports");
    assertThat(get("/containers/one/environment").toString())
        .contains("COLOUR", "green", "API_KEY")
        .doesNotContain("hidden-value");
    assertThat(rest.get("/containers/one/top").expect(200).text()).contains("sleep 1000");
    byte[] tar = TarWriter.archive(List.of(TarEntry.file("in.txt", "inside")));
    rest.put("/containers/one/archive?path=/tmp", tar).expect(204);
    assertThat(rest.get("/containers/one/archive?path=/tmp/in.txt").expect(200).text())
        .contains("inside");
    var head = HttpRequest.of("HEAD", "/api/v1/containers/one/archive?path=/tmp/in.txt");
    assertThat(rest.send(head).status()).isEqualTo(200);
    assertThat(get("/containers/one/stats").at("pids").integer()).isPresent();
    assertThat(rest.get("/stats").expect(200).text()).contains("\"one\"");
    assertThat(get("/containers/one/stats/history?span=6h").at("span").string()).contains("6h");
    assertThat(get("/stats/history").at("name").string()).contains("node");
    for (String path :
        List.of("/containers/one/exec/ws?command=true", "/containers/one/attach/ws?logs=true")) {
      try (WebSocket talk = rest.socket(path)) {
        assertThat(talk.receive()).isNotNull();
      }
    }
    assertThat(rest.post("/containers/one/update", "{\"pids_limit\":50}").expect(200).text())
        .isNotEmpty();
    assertThat(rest.get("/containers/one/export").expect(200).text()).contains("inside");
    rest.post("/images/commit", "{\"container\":\"one\",\"ref\":\"localhost/committed:1\"}")
        .expect(200);
    rest.post("/containers/one/release").expect(204);
    rest.post("/containers/one/rename?name=two").expect(204);
    rest.post("/containers/two/rename?name=two").expect(409);
    rest.get("/executions?limit=-1").expect(400);
    rest.post("/containers/two/restart?grace=0s").expect(204);
    rest.post("/containers/two/kill?signal=KILL").expect(204);
    assertThat(rest.post("/containers/two/wait").expect(200).json().at("code").integer())
        .isPresent();
    rest.post("/containers/two/start").expect(204);
    rest.post("/containers/two/stop?grace=0s").expect(200);
    rest.delete("/containers/two").expect(204);
    rest.get("/containers/two").expect(404);
  }

  @Test
  @Order(5)
  void images() throws Exception {
    byte[] archive = ImageMaker.busybox().cmd("sh").make().ociArchive("localhost/other:1");
    rest.postBytes("/images/load", archive).expect(200);
    Json refused =
        rest.post("/images/pull", "{\"ref\":\"127.0.0.1:1/none:1\",\"policy\":\"always\"}")
            .expect(502)
            .json();
    assertThat(refused.at("kind").string()).as("before the first line").contains("Network");
    rest.post("/images/pull", "{\"ref\":\"localhost/other:1\",\"policy\":\"if_not_present\"}")
        .expect(200);
    push("localhost/other:1");
    byte[] context =
        TarWriter.archive(
            List.of(TarEntry.file("Dockerfile", "FROM localhost/other:1\nENV A=b\n")));
    assertThat(rest.postBytes("/images/build?tag=localhost/built:1", context).expect(200).text())
        .contains("\"type\":\"result\"");
    rest.delete("/images?ref=localhost/built:1").expect(200);
    rest.post("/images/tag", "{\"source\":\"localhost/other:1\",\"target\":\"localhost/other:2\"}")
        .expect(204);
    assertThat(rest.get("/images").expect(200).text()).contains("localhost/other:2");
    assertThat(get("/images/inspect?ref=localhost/other:2").at("platform").string()).isPresent();
    get("/images/history?ref=localhost/other:2");
    assertThat(rest.get("/images/save?ref=localhost/other:2").expect(200).text())
        .contains("index.json");
    byte[] root = TarWriter.archive(List.of(TarEntry.file("hello", "world")));
    rest.postBytes("/images/import?ref=localhost/made:1", root).expect(200);
    rest.post("/images/check").expect(200);
    rest.delete("/images?ref=localhost/other:2").expect(200);
    rest.get("/images/inspect?ref=localhost/other:2").expect(404);
    rest.post("/images/prune").expect(200);
  }

  /** Every route with a limit, whatever it lists. */
  @Test
  @Order(5)
  void everyListIsGivenInParts() throws Exception {
    String replica = ids(get("/containers?deployment=shop")).getFirst();
    String execution = get("/executions").items().getFirst().at("id").string().orElseThrow();
    var paged = new ArrayList<String>();
    for (var path : get("/openapi.json").at("paths").members().entrySet()) {
      Json operation = path.getValue().at("get");
      if (operation.at("parameters").items().stream()
          .noneMatch(one -> one.at("name").string().orElse("").equals("limit"))) {
        continue;
      }
      String list =
          path.getKey()
                  .replaceFirst("^/api/v1", "")
                  .replace("{name}", "shop")
                  .replace("{service}", "web")
                  .replace("{ref}", replica)
                  .replace("{id}", execution)
              + (path.getKey().endsWith("/images/history") ? "?ref=" + Node.IMAGE : "?");
      paged.add(list);
      assertThat(rest.get(list + "&limit=-1").status()).as(list).isEqualTo(400);
      assertThat(rest.get(list + "&limit=many").status()).as(list).isEqualTo(400);
      if (list.startsWith("/events")) {
        assertThat(get(list + "&limit=1").at("events").items()).hasSize(1);
      } else if (list.startsWith("/audit")) {
        List<Json> all = rest.get(list + "&limit=3").expect(200).lines();
        assertThat(all).hasSize(3);
        assertThat(rest.get(list + "&limit=2&offset=1").expect(200).lines())
            .isEqualTo(all.subList(1, 3));
      } else if (list.startsWith("/nodes")) {
        rest.get(list + "&limit=1").expect(409); // ClusterIT has some
      } else {
        parts(list);
      }
    }
    assertThat(paged).hasSizeGreaterThan(15);
  }

  private static void parts(String list) throws InterruptedException {
    Rest.Reply first = rest.get(list + "&limit=1").expect(200);
    long total = Long.parseLong(first.headers().first("X-Total-Count").orElse("-1"));
    assertThat(total).as(list).isNotNegative();
    assertThat(first.json().items()).as(list).hasSize((int) Math.min(1, total));
    assertThat(get(list + "&limit=1&offset=1").items())
        .as(list)
        .hasSize(Math.clamp(total - 1, 0, 1));
    assertThat(get(list + "&offset=" + total).items()).as(list).isEmpty();
  }

  @Test
  @Order(6)
  void secretsVolumesNetworksEvents() throws Exception {
    rest.put("/secrets/token", "s3cret".getBytes(StandardCharsets.UTF_8)).expect(200);
    assertThat(rest.get("/secrets").expect(200).text()).contains("token").doesNotContain("s3cret");
    rest.delete("/secrets/token").expect(204);
    assertThat(get("/volumes/goods").at("deployments").strings()).containsExactly("shop");
    rest.delete("/deployments/shop?wait=30s").expect(200);
    assertThat(get("/volumes").items()).hasSize(1);
    rest.delete("/volumes/goods").expect(204);
    assertThat(rest.post("/volumes/prune").expect(200).json().items()).isEmpty();
    rest.post("/volumes", "{\"name\":\"made\"}").expect(201);
    byte[] archive =
        rest.get("/volumes/made/archive").expect(200).text().getBytes(StandardCharsets.UTF_8);
    rest.put("/volumes/made/archive?replace=true", archive).expect(200);
    rest.delete("/volumes/made").expect(204);
    rest.post("/networks", "{\"name\":\"made\"}").expect(201);
    assertThat(get("/networks/made").at("name").string()).contains("made");
    rest.delete("/networks/made").expect(204);
    rest.post(
            "/containers",
            "{\"name\":\"net\",\"image\":\"%s\",\"pull\":\"never\",\"command\":[\"true\"],\"network_mode\":\"bridge:own\"}"
                .formatted(Node.IMAGE))
        .expect(201);
    rest.post("/networks/default/connect?container=net", "{\"aliases\":[\"a\"]}").expect(204);
    assertThat(rest.get("/networks/default").expect(200).text()).contains("\"a\"");
    rest.post("/networks/default/connect?container=net").expect(409);
    rest.post("/networks/default/disconnect?container=net").expect(204);
    rest.post("/networks/default/disconnect?container=net").expect(404);
    rest.delete("/containers/net?force=true").expect(204);
    assertThat(rest.get("/networks").expect(200).text()).contains("\"own\"");
    rest.delete("/networks/own").expect(204);
    assertThat(rest.get("/networks").expect(200).text()).doesNotContain("\"own\"");
    assertThat(rest.get("/events").expect(200).text()).contains("deployment.revised");
    assertThat(get("/events?last=3").at("events").items()).hasSize(3);
  }

  @Test
  @Order(6)
  void jobsWithoutADeployment() throws Exception {
    byte[] file =
        "image: {name: %s}\ncommand: ['true']\n"
            .formatted(Node.IMAGE)
            .getBytes(StandardCharsets.UTF_8);
    rest.put("/jobs/-/single", file).expect(201);
    rest.delete("/jobs/-/single").expect(204);
  }

  @Test
  @Order(6)
  void tokensAndAudit() throws Exception {
    Json made = rest.post("/tokens", "{\"read_only\":true,\"name\":\"ro\"}").expect(201).json();
    assertThat(made.at("secret").string()).isPresent();
    assertThat(get("/tokens").items()).hasSize(1);
    rest.delete("/tokens/ro").expect(204);
    assertThat(get("/tokens").items()).isEmpty();
    assertThat(get("/gpus").items()).isEmpty();
    Json link = rest.post("/dashboard/links", "{\"read_only\":true}").expect(201).json();
    login(URI.create(link.at("url").string().orElseThrow()));
    String session = get("/dashboard/sessions").items().getFirst().at("id").string().orElseThrow();
    rest.delete("/dashboard/sessions/" + session).expect(204);
    assertThat(rest.get("/ingress/ca").expect(200).text()).contains("BEGIN CERTIFICATE");
    rest.post("/ingress/certificates/none.test/revoke").expect(404);
    assertThat(rest.get("/audit?since=1h").expect(200).text()).contains("DELETE", "/tokens/{name}");
  }

  @Test
  @Order(6)
  void ingress() throws Exception {
    String endpoint = "{name: http, protocol: http, port: 8080, host: routed.test}";
    String web = "image: {name: %s}, scale: {mode: manual, replicas: 0}, endpoints: [%s]";
    String spec = "version: v1\ndeployment: routed\nservices: {web: {" + web + "}}\n";
    byte[] file = spec.formatted(Node.IMAGE, endpoint).getBytes(UTF_8);
    rest.put("/deployments/routed", file).expect(202);
    try {
      IngressNode.await("routed", () -> !get("/ingress/routes").items().isEmpty());
      rest.put("/ingress/services/routed/web/mode", "{state: paused}".getBytes(UTF_8)).expect(204);
      rest.get("/ingress/services/routed/web/logs").expect(200);
      assertThat(get("/ingress/certificates").items()).isEmpty();
      assertThat(get("/ingress/services/routed/web").at("state").string()).contains("paused");
      assertThat(rest.get("/metrics").expect(200).text())
          .containsPattern(
              "zlayer_ingress_replicas_ready\\{deployment=\"routed\",endpoint=\"http\","
                  + "service=\"web\"\\} 0");
    } finally {
      rest.delete("/deployments/routed?wait=30s").expect(200);
    }
  }

  @Test
  @Order(6)
  void aNodeInNoClusterSaysSo() throws Exception {
    RouteCoverage.refuseOutsideOfAnyCluster(rest);
  }

  @Test
  @Order(7)
  void noRouteIsLeftOut() throws Exception {
    String figures = rest.get("/metrics").expect(200).text().replace("*}", "}");
    assertThat(RouteCoverage.missing(get("/openapi.json"), figures)).isEmpty();
  }

  private static void login(URI link) throws IOException, InterruptedException {
    java.net.http.HttpRequest request =
        java.net.http.HttpRequest.newBuilder(link.resolve("/session"))
            .header("Origin", "http://" + link.getAuthority())
            .POST(
                java.net.http.HttpRequest.BodyPublishers.ofString(
                    "{\"token\":\"%s\"}".formatted(link.getFragment().replace("token=", ""))))
            .build();
    try (var client = HttpClient.newHttpClient()) {
      assertThat(client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode())
          .isEqualTo(200);
    }
  }

  private static void push(String image) throws Exception {
    String auth = "{\"user\":\"ann\",\"password\":\"secret\"}";
    try (var registry = LocalRegistry.start(Options.DEFAULT.withLogin("ann", "secret"))) {
      String login = "{\"host\":\"%s\",\"auth\":%s}";
      rest.post("/registries/login", login.formatted(registry.host(), auth)).expect(204);
      rest.post("/registries/login", login.formatted("127.0.0.1:1", auth)).expect(502);
      ImageRef target = registry.ref("pushed:1");
      rest.post("/images/push", "{\"ref\":\"%s\"}".formatted(target)).expect(404);
      rest.post("/images/tag", "{\"source\":\"%s\",\"target\":\"%s\"}".formatted(image, target))
          .expect(204);
      assertThat(
              rest.post("/images/push", "{\"ref\":\"%s\",\"auth\":%s}".formatted(target, auth))
                  .expect(200)
                  .text())
          .contains("\"step\":\"pushed\"")
          .contains("\"type\":\"result\"");
      rest.delete("/images?ref=" + target).expect(200);
    }
  }
}
