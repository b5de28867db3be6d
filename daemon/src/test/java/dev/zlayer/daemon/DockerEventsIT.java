package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Events and health, as Docker's own command line shows them. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.DOCKERD})
class DockerEventsIT {
  private static final String IMAGE = Node.IMAGE;
  @RegisterExtension static final DockerNode node = new DockerNode();
  private static final DockerCli docker = node.docker();

  /** With all its digits, or what the test before did in the same second would count. */
  private static String now() {
    Instant now = Instant.now();
    return "%d.%09d".formatted(now.getEpochSecond(), now.getNano());
  }

  /** What happened since a time, each as its kind and what was done. */
  private static List<String> actions(String since, String... filters) throws Exception {
    var words =
        new java.util.ArrayList<>(
            List.of(
                "events",
                "--since",
                since,
                "--until",
                String.valueOf(System.currentTimeMillis() / 1000 + 1),
                "--format",
                "{{.Type}} {{.Action}}"));
    words.addAll(List.of(filters));
    return docker.out(words.toArray(String[]::new)).lines().toList();
  }

  @Test
  void whatHappenedIsReported() throws Exception {
    String since = now();
    docker.out("network", "create", "back");
    docker.out("volume", "create", "data");
    assertThat(docker.run("run", "--rm", "--name", "short", IMAGE, "sh", "-c", "exit 3").code())
        .isEqualTo(3);
    docker.out("tag", IMAGE, "localhost/event:1");
    docker.out("rmi", "localhost/event:1");
    String until = String.valueOf(System.currentTimeMillis() / 1000 + 1);
    String all = docker.out("events", "--since", since, "--until", until);
    assertThat(all)
        .contains("network create")
        .contains("volume create data")
        .contains("container create")
        .contains("container start")
        .contains("container die")
        .contains("exitCode=3")
        .contains("container destroy")
        .contains("image tag")
        .contains("image untag");
    assertThat(
            docker
                .out(
                    "events",
                    "--since",
                    since,
                    "--until",
                    until,
                    "--filter",
                    "container=short",
                    "--filter",
                    "event=die")
                .lines())
        .hasSize(1);
    assertThat(docker.out("events", "--since", since, "--until", until, "--filter", "type=volume"))
        .contains("volume create")
        .doesNotContain("container");
  }

  @Test
  void whatClientsDoWithAContainerIsReportedInOrder(@TempDir Path directory) throws Exception {
    Path file = Files.writeString(directory.resolve("file"), "x");
    String since = now();
    docker.out("run", "-d", "--name", "one", "-l", "team=blue", IMAGE, "sleep", "300");
    docker.out("exec", "one", "sh", "-c", "true");
    docker.out("top", "one");
    docker.out("cp", file.toString(), "one:/tmp/file");
    docker.out("cp", "one:/tmp/file", directory.resolve("back").toString());
    docker.out("pause", "one");
    docker.out("unpause", "one");
    docker.out("rename", "one", "two");
    docker.out("update", "--memory", "64m", "--memory-swap", "64m", "two");
    docker.out("kill", "-s", "HUP", "two");
    docker.out("restart", "-t", "0", "two");
    docker.out("stop", "-t", "0", "two");
    docker.out("export", "-o", directory.resolve("root.tar").toString(), "two");
    docker.out("commit", "two", "localhost/event:2");
    docker.out("rm", "two");
    docker.out("container", "prune", "-f");
    docker.out("rmi", "localhost/event:2");

    assertThat(actions(since, "--filter", "type=container"))
        .containsSubsequence(
            "container create",
            "container start",
            "container exec_create: sh -c true",
            "container exec_start: sh -c true",
            "container exec_die",
            "container top",
            "container extract-to-dir",
            "container archive-path",
            "container pause",
            "container unpause",
            "container rename",
            "container update",
            "container kill",
            "container kill",
            "container die",
            "container stop",
            "container start",
            "container restart",
            "container kill",
            "container die",
            "container stop",
            "container export",
            "container commit",
            "container destroy",
            "container prune");
    String until = String.valueOf(System.currentTimeMillis() / 1000 + 1);
    String all =
        docker.out(
            "events",
            "--since",
            since,
            "--until",
            until,
            "--filter",
            "event=exec_die",
            "--filter",
            "event=rename",
            "--filter",
            "event=kill",
            "--filter",
            "label=team=blue",
            "--format",
            "{{json .}}");
    List<Json> some = all.lines().map(JsonText::parse).toList();
    Json died = some.getFirst().at("Actor").at("Attributes");
    assertThat(died.at("exitCode").string()).contains("0");
    assertThat(died.at("execID").string()).hasValueSatisfying(id -> assertThat(id).hasSize(64));
    assertThat(died.at("image").string()).contains(IMAGE);
    assertThat(died.members().keySet()).noneMatch(name -> name.startsWith("com.zlayer."));
    assertThat(some.get(1).at("Actor").at("Attributes").at("oldName").string()).contains("/one");
    assertThat(some.get(2).at("Actor").at("Attributes").at("signal").string()).contains("1");
  }

  @Test
  void whoWatchesSeesItAtOnce() throws Exception {
    docker.out("run", "-d", "--name", "watched", IMAGE, "sleep", "300");
    Process watching =
        docker.start("events", "--filter", "container=watched", "--format", "{{.Action}}");
    try (BufferedReader lines = watching.inputReader(StandardCharsets.UTF_8)) {
      // until the first one is seen it is not known that the client listens
      Awaitility.await()
          .atMost(Duration.ofSeconds(20))
          .until(
              () -> {
                docker.out("top", "watched");
                return lines.ready();
              });
      docker.out("exec", "watched", "true");
      docker.out("pause", "watched");
      for (String wanted : List.of("exec_create: true", "exec_start: true", "exec_die", "pause")) {
        String line = lines.readLine();
        while (line != null && !line.equals(wanted)) {
          line = lines.readLine();
        }
        assertThat(line).isEqualTo(wanted);
      }
    } finally {
      watching.destroy();
      assertThat(watching.waitFor(10, TimeUnit.SECONDS)).isTrue();
    }
  }

  /** Of what is typed the keys are taken, and what comes before them is passed on. */
  @Test
  void keysDetachFromATerminal() throws Exception {
    String since = now();
    docker.out("run", "-dit", "--name", "shell", IMAGE, "sh");
    try (var wire = new DockerWire(node.node().dockerSocket())) {
      for (String[] typed :
          new String[][] {
            {"", "echo usual > /tmp/usual\n\u0010\u0011"},
            {"&detachKeys=x,y,z", "echo own > /tmp/own\nxyz"}
          }) {
        try (var raw = wire.raw()) {
          raw.send(
              "POST /containers/shell/attach?stream=1&stdin=1&stdout=1%s HTTP/1.1\r\nHost: x\r\n"
                      .formatted(typed[0])
                  + "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
          assertThat(raw.head()).startsWith("HTTP/1.1 101");
          raw.send(typed[1]);
          assertThat(raw.rest()).isNotNull(); // it ends, although this side has not
        }
      }
      assertThat(
              wire.send("POST", "/containers/shell/attach?stream=1&detachKeys=nonsense")
                  .expect(400)
                  .message())
          .isEqualTo("Invalid detach keys (nonsense) provided");
    }
    for (String word : List.of("usual", "own")) {
      Awaitility.await()
          .atMost(Duration.ofSeconds(20))
          .until(
              () ->
                  docker.run("exec", "shell", "cat", "/tmp/" + word).stdout().equals(word + "\n"));
    }
    assertThat(docker.out("inspect", "-f", "{{.State.Running}}", "shell")).isEqualTo("true");
    assertThat(actions(since, "--filter", "container=shell"))
        .containsSubsequence("container attach", "container detach", "container detach");
  }

  @Test
  void whatTheAgentsOwnApiDoesIsReported() throws Exception {
    String since = now();
    try (Rest rest = Rest.on(node.node().socket())) {
      rest.post("/volumes", "{\"name\":\"kept\"}").expect(201);
      rest.delete("/volumes/kept").expect(204);
      rest.post("/networks", "{\"name\":\"own\"}").expect(201);
      rest.delete("/networks/own").expect(204);
      rest.post(
              "/images/tag",
              "{\"source\":\"%s\",\"target\":\"localhost/other:1\"}".formatted(IMAGE))
          .expect(204);
      rest.delete("/images?ref=localhost/other:1").expect(200);
      rest.post(
              "/containers",
              "{\"name\":\"mine\",\"image\":\"%s\",\"pull\":\"never\",\"command\":[\"sleep\",\"300\"]}"
                  .formatted(IMAGE))
          .expect(201);
      rest.post("/containers/mine/pause").expect(204);
      rest.post("/containers/mine/unpause").expect(204);
      rest.post("/containers/mine/kill?signal=HUP").expect(204);
      rest.delete("/containers/mine?force=true").expect(204);
    }
    assertThat(actions(since))
        .containsSubsequence(
            "volume create",
            "volume destroy",
            "network create",
            "network destroy",
            "image tag",
            "image untag",
            "container create",
            "container start",
            "container pause",
            "container unpause",
            "container kill",
            "container die",
            "container destroy");
    assertThat(
            docker.out(
                "events",
                "--since",
                since,
                "--until",
                String.valueOf(System.currentTimeMillis() / 1000 + 1),
                "--filter",
                "network=own",
                "--format",
                "{{.Actor.ID}}"))
        .matches("[0-9a-f]{64}\\R[0-9a-f]{64}");
  }

  @Test
  void replicasOfDeploymentsAreReported() throws Exception {
    String file =
        """
        version: v1
        deployment: seen
        services:
          web:
            image: {name: IMAGE, pull_policy: never}
            command: [sh, -c, "trap 'exit 5' TERM; touch /tmp/ok; while :; do sleep 0.1; done"]
            labels: {team: blue}
            stop_grace_period: 10s
            health:
              check: {type: command, command: "test -e /tmp/ok"}
              interval: 1s
        """
            .replace("IMAGE", IMAGE);
    String since = now();
    String id;
    try (Rest rest = Rest.on(node.node().socket())) {
      rest.put("/deployments/seen?directory=/", file.getBytes(StandardCharsets.UTF_8)).expect(202);
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .until(
              () ->
                  actions(
                              since,
                              "--filter",
                              "event=health_status",
                              "--filter",
                              "label=com.docker.compose.project=seen")
                          .size()
                      == 1);
      id = docker.out("ps", "-q", "--no-trunc", "--filter", "name=seen-web-1");
      rest.delete("/deployments/seen?wait=60s").expect(200);
    }
    assertThat(actions(since, "--filter", "label=com.docker.compose.project=seen"))
        .containsExactly(
            "container create",
            "container start",
            "container health_status: healthy",
            "container die",
            "container stop",
            "container destroy");
    assertThat(actions(since, "--filter", "container=" + id)).hasSize(6);
    assertThat(actions(since, "--filter", "container=seen-web-1", "--filter", "event=die"))
        .hasSize(1);
    String died =
        docker.out(
            "events",
            "--since",
            since,
            "--until",
            String.valueOf(System.currentTimeMillis() / 1000 + 1),
            "--filter",
            "label=team=blue",
            "--filter",
            "event=die",
            "--format",
            "{{.Actor.ID}} {{.Actor.Attributes.exitCode}} {{.Actor.Attributes.name}} {{.From}}");
    assertThat(died).isEqualTo(id + " 5 seen-web-1 " + IMAGE);
  }

  @Test
  void everyFilterIsHonoured() throws Exception {
    String since = now();
    docker.out("network", "create", "front");
    docker.out("network", "create", "rear");
    docker.out("volume", "create", "first");
    docker.out("volume", "create", "second");
    docker.out(
        "run", "--rm", "--name", "job", "-l", "team=red", "--network", "front", IMAGE, "true");
    docker.out("tag", IMAGE, "localhost/filtered:1");
    docker.out("rmi", "localhost/filtered:1");
    docker.out("network", "rm", "front", "rear");
    docker.out("volume", "rm", "first", "second");

    assertThat(actions(since, "--filter", "type=volume"))
        .containsExactly("volume create", "volume create", "volume destroy", "volume destroy");
    assertThat(actions(since, "--filter", "volume=first"))
        .containsExactly("volume create", "volume destroy");
    assertThat(actions(since, "--filter", "network=rear"))
        .containsExactly("network create", "network destroy");
    assertThat(actions(since, "--filter", "network=front"))
        .contains("network create", "network destroy");
    assertThat(actions(since, "--filter", "type=image", "--filter", "image=localhost/filtered:1"))
        .contains("image untag");
    assertThat(actions(since, "--filter", "type=image", "--filter", "event=tag"))
        .containsExactly("image tag");
    assertThat(actions(since, "--filter", "image=" + IMAGE, "--filter", "type=container"))
        .contains("container create", "container die");
    assertThat(actions(since, "--filter", "container=job"))
        .containsSubsequence(
            "container create", "container start", "container die", "container destroy");
    assertThat(actions(since, "--filter", "label=team=red"))
        .allMatch(action -> action.startsWith("container "))
        .isNotEmpty();
    assertThat(actions(since, "--filter", "label=team=green")).isEmpty();
    assertThat(actions(since, "--filter", "scope=local")).hasSameSizeAs(actions(since));
    assertThat(actions(since, "--filter", "scope=swarm")).isEmpty();
    assertThat(actions(since, "--filter", "daemon=any")).isEmpty();
    assertThat(actions(since, "--filter", "type=daemon")).isEmpty();
    assertThat(
            actions(
                since,
                "--filter",
                "event=create",
                "--filter",
                "type=volume",
                "--filter",
                "type=network"))
        .hasSize(4);
    long early = System.currentTimeMillis() / 1000 - 10_000;
    assertThat(
            docker.out(
                "events", "--since", String.valueOf(early), "--until", String.valueOf(early + 100)))
        .isEmpty();
    assertThat(docker.run("events", "--since", "10", "--until", "5").code()).isNotZero();
    assertThat(docker.run("events", "--until", "1s", "--filter", "colour=red").stderr())
        .contains("invalid filter 'colour'");
  }

  /** The check of an image is its containers', who may change a part of it or none of it. */
  @Test
  void theImageSaysHowItsHealthIsChecked() throws Exception {
    Json check =
        Json.object()
            .put("Test", List.of("CMD-SHELL", "test -e /tmp/ok"))
            .put("Interval", Duration.ofSeconds(30).toNanos())
            .put("StartPeriod", Duration.ofSeconds(60).toNanos())
            .put("StartInterval", Duration.ofMillis(100).toNanos())
            .build();
    try (Rest rest = Rest.on(node.node().socket())) {
      rest.postBytes(
              "/images/load",
              ImageMaker.busybox()
                  .cmd("sh", "-c", "sleep 0.5; touch /tmp/ok; exec sleep 300")
                  .healthcheck(check)
                  .make()
                  .ociArchive("localhost/checked:1"))
          .expect(200);
    }
    docker.out("run", "-d", "--name", "healthy", "localhost/checked:1");
    Awaitility.await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> health("healthy").equals("healthy"));
    docker.out("run", "-d", "--name", "none", "--no-healthcheck", "localhost/checked:1");
    assertThat(docker.out("inspect", "-f", "{{.State.Health}}", "none")).isEqualTo("<nil>");
    docker.out(
        "run",
        "-d",
        "--name",
        "sick",
        "--health-cmd",
        "echo reason; exit 1",
        "--health-interval",
        "100ms",
        "--health-retries",
        "2",
        "--health-start-period",
        "100ms",
        IMAGE,
        "sleep",
        "300");
    Awaitility.await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> health("sick").equals("unhealthy"));
    assertThat(
            JsonText.parse(docker.out("inspect", "-f", "{{json .State.Health.Log}}", "sick"))
                .items())
        .hasSizeGreaterThan(1)
        .allSatisfy(made -> assertThat(made.at("Output").string().orElse("")).contains("reason"))
        .extracting(made -> made.at("Start"))
        .doesNotHaveDuplicates();
    assertThat(docker.out("ps", "--filter", "health=unhealthy", "--format", "{{.Names}}"))
        .isEqualTo("sick");
    assertThat(docker.out("inspect", "-f", "{{.Config.Healthcheck.Interval}}", "healthy"))
        .isEqualTo("30s");
    docker.out("rm", "-f", "healthy", "none", "sick");
    docker.out("rmi", "localhost/checked:1");
  }

  private static String health(String name) throws Exception {
    return docker.out("inspect", "-f", "{{.State.Health.Status}}", name);
  }
}
