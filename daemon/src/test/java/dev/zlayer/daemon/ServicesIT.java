package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What services get and what becomes of them, through the REST API with real containers. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class ServicesIT {
  private static OpenNode node;
  private static Rest rest;

  @BeforeAll
  static void open() throws Exception {
    node = OpenNode.open();
    rest = node.rest();
  }

  @AfterAll
  static void close() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  @Test
  void secretsReachTheirUsersHiddenAndRollThem() throws Exception {
    secret("pw", "first-word");
    up(
        "vault",
        """
        web:
          image: IMAGE
          env: {PASSWORD: '$S:pw', URL: 'db://user:${S:pw}@db'}
          secrets: [pw]
          command: [sh, -c, "echo the word is $PASSWORD; sleep 1000"]
          stop_grace_period: 0s
        """);
    String first = running("vault");
    assertThat(inside(first, "echo $PASSWORD $URL; cat /run/secrets/pw; mount"))
        .contains("first-word db://user:first-word@db\nfirst-word")
        .containsPattern("tmpfs on /run/secrets.*ro");
    assertThat(inside(first, "echo changed > /run/secrets/pw || echo refused")).contains("refused");
    assertThat(rest.get("/containers/" + first).text()).doesNotContain("first-word");
    await(
        "printed", () -> rest.get("/containers/" + first + "/logs").text().contains("the word is"));
    assertThat(rest.get("/containers/" + first + "/logs").text()).doesNotContain("first-word");
    assertThat(rest.get("/deployments/vault").text()).doesNotContain("first-word");
    assertThat(rest.get("/secrets").text()).contains("pw").doesNotContain("first-word");

    secret("pw", "second-word");

    await("rolled", () -> !running("vault").equals(first));
    assertThat(inside(running("vault"), "echo $PASSWORD; cat /run/secrets/pw"))
        .contains("second-word\nsecond-word");
    assertThat(rest.get("/events").text()).doesNotContain("first-word", "second-word");
    down("vault");
  }

  @Test
  void aServiceWithoutReplicasTakesNoNetwork() throws Exception {
    up(
        "empty",
        """
        web:
          image: IMAGE
          command: [sleep, "1000"]
          scale: {mode: manual, replicas: 0}
          stop_grace_period: 0s
        """);
    await(
        "as the file says",
        () -> rest.get("/events?deployment=empty").text().contains("service.running"));
    await("stopped", () -> state("empty", "web").equals("stopped"));
    assertThat(rest.get("/networks").expect(200).text()).doesNotContain("d_empty");

    rest.post("/deployments/empty/services/web/scale", "{\"replicas\": 1}").expect(204);
    await("scaled", () -> service("empty", "web").at("replicas").items().size() == 1);
    String container = running("empty");
    assertThat(rest.get("/networks").expect(200).text()).contains("d_empty");
    assertThat(inside(container, "nslookup web")).contains("web.empty.zlayer.internal");
    down("empty");
    assertThat(rest.get("/networks").expect(200).text()).doesNotContain("d_empty");
  }

  @Test
  void stepsFillAVolumeThatIsKeptAsLongAsSomebodyWantsIt() throws Exception {
    up(
        "site",
        """
        web:
          image: IMAGE
          init: {steps: [{id: fill, uses: init.run, with: {command: "echo hello > /data/page"}}]}
          storage: [{type: named, name: pages, target: /data}]
          command: [sleep, "1000"]
          stop_grace_period: 0s
        """);
    String container = running("site");
    assertThat(inside(container, "cat /data/page")).contains("hello");
    Json volume = rest.get("/volumes/pages").expect(200).json();
    assertThat(volume.at("used_by").strings()).hasSize(1);
    assertThat(JsonText.print(volume)).contains("site");
    assertThat(rest.delete("/volumes/pages").expect(409).text()).contains("is used by");
    rest.post("/volumes/prune").expect(200);
    rest.get("/volumes/pages").expect(200);

    down("site");

    rest.get("/volumes/pages").expect(200);
    assertThat(rest.post("/volumes/prune").expect(200).text()).contains("pages");
    rest.get("/volumes/pages").expect(404);
  }

  @Test
  void aServiceThatFailsIsGivenUpWithCodeAndLastWords() throws Exception {
    secret("word", "hush-hush");
    up(
        "ill",
        """
        web:
          image: IMAGE
          env: {WORD: '$S:word'}
          command: [sh, -c, "echo boom $WORD; exit 3"]
          restart_policy: {kind: on_failure, max_attempts: 1, delay: 100ms}
        steps:
          image: IMAGE
          init: {steps: [{id: check, uses: init.run, with: {command: "echo no way; exit 5"}}]}
          command: [sleep, "1000"]
        """);
    await("given up", () -> state("ill", "web").equals("failed"));
    Json error = service("ill", "web").at("last_error");
    assertThat(error.at("exit_code").integer()).contains(3L);
    assertThat(error.at("last_lines").strings()).containsExactly("boom [secret]");
    assertThat(service("ill", "web").at("replicas").items().getFirst().at("restarts").integer())
        .contains(1L);
    assertThat(rest.get("/events").text()).contains("boom [secret]").doesNotContain("hush-hush");
    await("not started", () -> state("ill", "steps").equals("failed"));
    assertThat(service("ill", "steps").at("last_error").at("message").string().orElse(""))
        .contains("check")
        .contains("5");
    down("ill");
  }

  @Test
  void aLimitThatAVolumeCannotHaveIsRefusedByItsPath() throws Exception {
    String file =
        """
        version: v1
        deployment: limited
        services:
          web:
            image: {name: app}
            storage: [{type: named, name: limited, target: /data, size: 1Mi}]
        """;
    assertThat(
            rest.put("/deployments/limited", file.getBytes(StandardCharsets.UTF_8))
                .expect(501)
                .text())
        .contains(":6:65: services.web.storage[0].size: directories cannot be");
    rest.get("/deployments/limited").expect(404);
    rest.get("/volumes/limited").expect(404);
  }

  @Test
  void aReplicaThatPanicsIsKeptAsideOrStopsItsService() throws Exception {
    up(
        "panics",
        """
        kept:
          image: IMAGE
          command: [sh, -c, "echo left behind; exit 4"]
          errors: {on_panic: {action: isolate}}
        ended:
          image: IMAGE
          scale: {mode: fixed, replicas: 2}
          command: [sh, -c, "exit 5"]
          errors: {on_panic: {action: shutdown}}
          stop_grace_period: 0s
        """);
    await(
        "isolated",
        () ->
            service("panics", "kept").at("replicas").items().stream()
                .anyMatch(one -> one.at("state").string().equals(Optional.of("isolated"))));
    String aside = replica("panics", "kept").at("container").string().orElseThrow();
    assertThat(rest.get("/containers/" + aside + "/logs?format=raw").expect(200).text())
        .isEqualTo("left behind\n");
    assertThat(service("panics", "kept").at("last_error").at("exit_code").integer()).contains(4L);
    assertThat(replica("panics", "kept").at("restarts").integer()).contains(0L);

    await("shut down", () -> state("panics", "ended").equals("failed"));
    await("no container", () -> containers("panics", "ended") == 0);
    assertThat(service("panics", "ended").at("last_error").at("exit_code").integer()).contains(5L);
    down("panics");
    assertThat(rest.get("/containers/" + aside).status()).isEqualTo(404);
  }

  @Test
  void aRollbackWhileAServiceIsRemovedBringsItBack(@TempDir Path signs) throws Exception {
    String other =
        "other: {image: IMAGE, command: [sleep, '1000'], stop_grace_period: 0s, network_mode:"
            + " none}\n";
    String web =
        """
        web:
          image: IMAGE
          network_mode: none
          storage: [{type: bind, source: %s, target: /signs}]
          command:
            - sh
            - -c
            - trap 'touch /signs/asked' TERM; touch /signs/set; until [ -e /signs/go ]; do sleep 0.1; done
          stop_grace_period: 60s
        """
            .formatted(signs);
    up("again", other + web);
    String first = running("again");
    await("set", () -> Files.exists(signs.resolve("set")));
    up("again", other);
    await("being removed", () -> Files.exists(signs.resolve("asked")));

    rest.post("/deployments/again/rollback", "").expect(202);
    Files.delete(signs.resolve("set"));
    Files.createFile(signs.resolve("go"));

    await("gone", () -> rest.get("/containers/" + first).status() == 404);
    Files.delete(signs.resolve("go"));
    await("another one", () -> Files.exists(signs.resolve("set")));
    assertThat(running("again")).isNotEqualTo(first);
    assertThat(state("again", "other")).isEqualTo("running");
    Files.createFile(signs.resolve("go"));
    down("again");
  }

  @Test
  void aVolumeInUseStaysTheSameWhenItsServiceIsScaled() throws Exception {
    up(
        "shared",
        """
        web:
          image: IMAGE
          network_mode: none
          storage: [{type: named, name: shared, target: /data}]
          command: [sleep, "1000"]
          stop_grace_period: 0s
        """);
    String first = running("shared");

    rest.post("/deployments/shared/services/web/scale", "{\"replicas\": 2}").expect(204);
    await("two", () -> containers("shared", "web") == 2 && allRun("shared"));

    assertThat(inside(first, "echo kept > /data/file && echo written")).contains("written");
    String second =
        service("shared", "web").at("replicas").items().stream()
            .map(one -> one.at("container").string().orElseThrow())
            .filter(one -> !one.equals(first))
            .findAny()
            .orElseThrow();
    assertThat(inside(second, "cat /data/file")).contains("kept");
    down("shared");
    rest.delete("/volumes/shared").expect(204);
  }

  private static boolean allRun(String deployment) throws InterruptedException {
    List<Json> replicas = service(deployment, "web").at("replicas").items();
    return replicas.size() == 2
        && replicas.stream().allMatch(one -> one.at("state").string().orElse("").equals("running"));
  }

  private static Json replica(String deployment, String name) throws InterruptedException {
    List<Json> replicas = service(deployment, name).at("replicas").items();
    assertThat(replicas).hasSize(1);
    return replicas.getFirst();
  }

  private static int containers(String deployment, String service) throws InterruptedException {
    return rest.get("/containers?all=true&deployment=%s&service=%s".formatted(deployment, service))
        .expect(200)
        .json()
        .items()
        .size();
  }

  private static void secret(String name, String value) throws InterruptedException {
    rest.put("/secrets/" + name, value.getBytes(StandardCharsets.UTF_8)).expect(200);
  }

  private static void up(String name, String services) throws InterruptedException {
    String file =
        "version: v1\ndeployment: %s\nservices:\n%s"
            .formatted(name, services.indent(2))
            .replace("IMAGE", "{name: %s, pull_policy: never}".formatted(Node.IMAGE));
    rest.put("/deployments/" + name + "?directory=/", file.getBytes(StandardCharsets.UTF_8))
        .expect(202);
  }

  private static void down(String name) throws InterruptedException {
    rest.delete("/deployments/" + name + "?wait=60s");
    await("gone", () -> rest.get("/deployments/" + name).status() == 404);
  }

  private static Json service(String deployment, String name) throws InterruptedException {
    return rest.get("/deployments/%s/services/%s".formatted(deployment, name)).expect(200).json();
  }

  private static String state(String deployment, String name) throws InterruptedException {
    return service(deployment, name).at("state").string().orElse("");
  }

  /** The one container of the service {@code web}, when the deployment is as wanted. */
  private static String running(String deployment) {
    return Awaitility.await("running")
        .pollInterval(Duration.ofMillis(20))
        .until(() -> only(service(deployment, "web")), Optional::isPresent)
        .orElseThrow();
  }

  private static Optional<String> only(Json service) {
    List<Json> replicas = service.at("replicas").items();
    return service.at("state").string().equals(Optional.of("running")) && replicas.size() == 1
        ? replicas.getFirst().at("container").string()
        : Optional.empty();
  }

  private static String inside(String container, String script) throws InterruptedException {
    String body = JsonText.print(Json.object().put("command", List.of("sh", "-c", script)).build());
    return rest.post("/containers/" + container + "/exec", body).expect(200).lines().stream()
        .map(line -> line.at("text").string().orElse(""))
        .collect(Collectors.joining());
  }

  private static void await(String what, Callable<Boolean> holds) {
    Awaitility.await(what)
        .pollInterval(Duration.ofMillis(20))
        .atMost(Duration.ofSeconds(60))
        .until(holds);
  }
}
