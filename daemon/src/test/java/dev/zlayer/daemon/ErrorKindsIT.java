package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Statuses;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.PullRequest;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.wsl.StandInWsl;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Every kind of error is raised somewhere and reaches callers as itself. */
@Requires(
    value = {Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX},
    programs = {"unshare", "nsenter", "iconv"})
class ErrorKindsIT {
  /** Makes the agent raise the kind that it is listed under. */
  @FunctionalInterface
  private interface Case {
    void check(String kind) throws Exception;
  }

  @TempDir static Path directory;
  private static StandInWsl wsl;
  private static Node node;
  private static Daemon daemon;
  private static Rest rest;

  private final Map<String, Case> cases = new TreeMap<>();

  ErrorKindsIT() {
    cases.put("NotFound", kind -> refused(rest.get("/containers/none"), kind, 404));
    cases.put("InvalidSpec", kind -> refused(put("web: {imag: x}"), kind, 422));
    cases.put("Unsupported", kind -> refused(put("web: {IMAGE, node_mode: shared}"), kind, 501));
    cases.put("Conflict", this::nameTaken);
    cases.put("Busy", this::queueFull);
    cases.put("Unavailable", ErrorKindsIT::shuttingDown);
    cases.put("PullFailed", ErrorKindsIT::registryRefuses);
    cases.put("Network", kind -> refused(pull("127.0.0.1:1/none:1"), kind, 502));
    cases.put("CreateFailed", this::brokenModule);
    cases.put("StartFailed", kind -> refused(create("nothing", "/no/such"), kind, 409));
    cases.put("UnexpectedExit", kind -> failed("web: {IMAGE, command: [sh, -c, exit 3]}", kind));
    cases.put("HealthCheckFailed", this::unhealthy);
    cases.put("InitActionFailed", this::initStep);
    cases.put("Timeout", this::waitTooShort);
    cases.put("DependencyTimeout", this::dependency);
    cases.put("RouteToPeer", this::windows);
    cases.put("WrongPlatform", this::foreignImage);
    cases.put("WslGpuUnavailable", ErrorKindsIT::gpuInWsl);
    cases.put("GpuSharingUnavailable", ErrorKindsIT::gpuShared);
    cases.put("Configuration", ErrorKindsIT::secondAgent);
    cases.put("Internal", ErrorKindsIT::closedStore);
  }

  @BeforeAll
  static void open() throws Exception {
    wsl = StandInWsl.open(directory);
    node =
        new Node()
            .with("wsl", "Debian")
            .with("wsl_program", wsl.program().toString())
            .with("data_dir", wsl.windows().resolve("zlayer").toString())
            .with("job_concurrency", "1")
            .with("job_queue", "1");
    daemon = node.daemon();
    rest = node.rest();
    Node.loadImage(rest);
  }

  @AfterAll
  static void close() throws Exception {
    if (rest != null) {
      rest.close();
    }
    if (daemon != null) {
      daemon.close();
    }
    if (node != null) {
      node.close();
    }
    if (wsl != null) {
      wsl.close();
    }
  }

  @Test
  void everyKindHasACase() {
    assertThat(cases.keySet())
        .containsExactlyInAnyOrderElementsOf(
            Arrays.stream(AgentException.class.getPermittedSubclasses())
                .map(Class::getSimpleName)
                .toList());
  }

  @TestFactory
  Stream<DynamicTest> eachIsRaised() {
    return cases.entrySet().stream()
        .map(
            entry ->
                DynamicTest.dynamicTest(
                    entry.getKey(), () -> entry.getValue().check(entry.getKey())));
  }

  private static void refused(Rest.Reply reply, String kind, int status) {
    assertThat(reply.status()).as(reply.text()).isEqualTo(status);
    assertThat(reply.json().at("kind").string()).as(reply.text()).contains(kind);
    assertThat(reply.json().at("detail").string()).as("says why").isPresent();
  }

  private static byte[] file(String services) {
    String image =
        "image: {name: \"%s\", pull_policy: never}, network_mode: none, stop_signal: SIGKILL"
            .formatted(Node.IMAGE);
    return ("version: v1\ndeployment: kinds\nservices:\n"
            + services.replace("IMAGE", image).indent(2))
        .getBytes(StandardCharsets.UTF_8);
  }

  private static Rest.Reply put(String services) throws InterruptedException {
    return rest.put("/deployments/kinds", file(services));
  }

  /** The deployment fails, and its result says with which kind. */
  private static void failed(String services, String kind) throws InterruptedException {
    try {
      Rest.Reply reply = rest.put("/deployments/kinds?wait=50s", file(services)).expect(200);
      assertThat(reply.json().at("outcome").string()).as(reply.text()).contains("failed");
      assertThat(reply.json().at("failure").at("kind").string()).as(reply.text()).contains(kind);
    } finally {
      rest.delete("/deployments/kinds?wait=50s");
    }
  }

  private static Json.Builder body(String name, String... command) {
    return Json.object()
        .put("name", name)
        .put("image", Node.IMAGE)
        .put("pull", "never")
        .put("network_mode", "host")
        .put("command", List.of(command));
  }

  private static Rest.Reply create(Json.Builder body) throws InterruptedException {
    return rest.post("/containers", JsonText.print(body.build()));
  }

  private static Rest.Reply create(String name, String... command) throws InterruptedException {
    return create(body(name, command));
  }

  private void windows(String kind) throws InterruptedException {
    var platform = Json.object().put("os", "windows").put("arch", "amd64").build();
    refused(create(body("foreign", "true").put("platform", platform)), kind, 421);
  }

  /** What a runtime says of an image that it does not serve, before another one is asked. */
  private void foreignImage(String kind) throws Exception {
    String index =
        """
        {"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[
         {"mediaType":"application/vnd.oci.image.manifest.v1+json","size":2,"digest":"sha256:%s",
          "platform":{"os":"linux","architecture":"s390x"}}]}
        """
            .formatted("0".repeat(64));
    HttpServer server = registry(200, index.getBytes(StandardCharsets.UTF_8));
    try {
      var wanted =
          PullRequest.of(
              ImageRef.parse("127.0.0.1:%d/other:1".formatted(server.getAddress().getPort())),
              PullPolicy.ALWAYS);
      assertThatThrownBy(() -> daemon.agent().oci().orElseThrow().images().pull(wanted, _ -> {}))
          .isInstanceOfSatisfying(
              AgentException.class, error -> assertThat(error.kind()).isEqualTo(kind))
          .hasMessageContaining("s390x");
    } finally {
      server.stop(0);
    }
  }

  private static Rest.Reply pull(String image) throws InterruptedException {
    return rest.post("/images/pull", "{\"ref\":\"%s\",\"policy\":\"always\"}".formatted(image));
  }

  private void nameTaken(String kind) throws InterruptedException {
    create("taken", "sleep", "1000").expect(201);
    refused(create("taken", "sleep", "1000"), kind, 409);
    rest.delete("/containers/taken?force=true").expect(204);
  }

  private void queueFull(String kind) throws InterruptedException {
    register("busy", "sleep 1000");
    String running = trigger("busy").expect(201).json().at("id").string().orElseThrow();
    String waiting = trigger("busy").expect(201).json().at("id").string().orElseThrow();
    refused(trigger("busy"), kind, 429);
    rest.post("/executions/" + waiting + "/cancel").expect(200);
    rest.post("/executions/" + running + "/cancel").expect(200);
    rest.get("/executions/" + running + "/wait?timeout=50s").expect(200);
  }

  private void waitTooShort(String kind) throws InterruptedException {
    register("slow", "sleep 1000");
    String id = trigger("slow").expect(201).json().at("id").string().orElseThrow();
    refused(rest.get("/executions/" + id + "/wait?timeout=100ms"), kind, 504);
    rest.post("/executions/" + id + "/cancel").expect(200);
    rest.get("/executions/" + id + "/wait?timeout=50s").expect(200);
  }

  private static void register(String job, String script) throws InterruptedException {
    String file =
        "image: {name: \"%s\", pull_policy: never}\nnetwork_mode: none\nstop_signal: SIGKILL\n"
            + "command: [sh, -c, '%s']\n";
    Rest.Reply reply =
        rest.put(
            "/jobs/-/" + job, file.formatted(Node.IMAGE, script).getBytes(StandardCharsets.UTF_8));
    assertThat(reply.status()).as(reply.text()).isIn(200, 201);
  }

  private static Rest.Reply trigger(String job) throws InterruptedException {
    return rest.post("/jobs/-/" + job + "/executions", "{}");
  }

  private static void shuttingDown(String kind) throws Exception {
    try (JobNode other = JobNode.open(new Node(), "one: {IMAGE, command: [echo, here]}")) {
      other.closeExecutor();
      refused(other.trigger("one", "{}"), kind, 503);
    }
  }

  private static void registryRefuses(String kind) throws Exception {
    HttpServer server = registry(404, new byte[0]);
    try {
      refused(pull("127.0.0.1:" + server.getAddress().getPort() + "/none:1"), kind, 502);
    } finally {
      server.stop(0);
    }
  }

  /** Answers every request so. */
  private static HttpServer registry(int status, byte[] body) throws IOException {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    HttpServer server = HttpServer.create(address, 0);
    server.createContext(
        "/",
        exchange -> {
          exchange
              .getResponseHeaders()
              .add("Content-Type", "application/vnd.oci.image.index.v1+json");
          exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    return server;
  }

  private void brokenModule(String kind) throws InterruptedException {
    byte[] module = {0, 'a', 's', 'm', 1, 0, 0, 0, 99, 99};
    String name = "localhost/broken:1";
    rest.postBytes("/images/load", ImageMaker.wasm(module).ociArchive(name)).expect(200);
    refused(create(Json.object().put("name", "broken").put("image", name)), kind, 409);
  }

  private void unhealthy(String kind) throws InterruptedException {
    failed(
        """
        web:
          {IMAGE, command: [sleep, "1000"],
           health: {interval: 200ms, retries: 1, on_unhealthy: stop,
                    check: {type: command, command: "false"}}}
        """,
        kind);
  }

  private void initStep(String kind) throws InterruptedException {
    failed(
        """
        web:
          {IMAGE, command: [sleep, "1000"],
           init: {steps: [{id: check, uses: init.run, with: {command: "exit 4"}}]}}
        """,
        kind);
  }

  private void dependency(String kind) throws InterruptedException {
    failed(
        """
        db:
          {IMAGE, command: [sleep, "1000"],
           health: {interval: 1h, start_grace: 1h, check: {type: command, command: "false"}}}
        web:
          {IMAGE, command: [sleep, "1000"],
           depends: [{service: db, condition: healthy, timeout: 1s, on_timeout: fail}]}
        """,
        kind);
  }

  private static void gpuInWsl(String kind) throws InterruptedException {
    refused(
        create(
            body("pinned", "true")
                .put("labels", Map.of("com.zlayer.isolation", "wsl"))
                .put("resources", gpu(Json.object()))),
        kind,
        503);
  }

  private static void gpuShared(String kind) throws InterruptedException {
    refused(
        create(
            body("shared", "true")
                .put("isolation", "hyperv")
                .put("resources", gpu(Json.object().put("sharing", "mps")))),
        kind,
        503);
  }

  private static Json gpu(Json.Builder gpu) {
    return Json.object().put("gpu", gpu.put("count", 1).put("vendor", "nvidia").build()).build();
  }

  private static void secondAgent(String kind) {
    assertThatThrownBy(() -> Agent.open(node.configured().config(), Map.of(), Node.log()).close())
        .isInstanceOfSatisfying(
            AgentException.class, error -> assertThat(error.kind()).isEqualTo(kind))
        .hasMessageContaining(Long.toString(ProcessHandle.current().pid()));
  }

  private static void closedStore(String kind) throws Exception {
    try (Node other = new Node()) {
      Agent agent = Agent.open(other.configured().config(), Map.of(), Node.log());
      agent.close();
      assertThatThrownBy(() -> agent.store().list("deployment"))
          .isInstanceOfSatisfying(
              AgentException.class,
              error -> {
                assertThat(error.kind()).isEqualTo(kind);
                assertThat(Statuses.of(error)).isEqualTo(500);
              });
    }
  }
}
