package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.ComposeProgram;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FreePorts;
import dev.zlayer.testkit.Requires;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Docker's compose on the agent's socket. */
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.DOCKERD,
  Fact.COMPOSE
})
class DockerComposeIT {
  @RegisterExtension static final DockerNode node = new DockerNode();
  private static final DockerCli docker = node.docker();

  @TempDir Path directory;
  private final Map<String, String> env = new HashMap<>();

  @BeforeEach
  void variables() {
    env.put("IMAGE", Node.IMAGE);
    env.put("DIRECTORY", directory.toString());
  }

  private CommandResult run(String file, String... words) throws Exception {
    Path copy = directory.resolve(file);
    if (Files.notExists(copy)) {
      try (InputStream stored = DockerComposeIT.class.getResourceAsStream("/compose/" + file)) {
        Files.copy(stored, copy);
      }
    }
    var command =
        new ArrayList<>(
            List.of(
                ComposeProgram.path().toString(),
                "--ansi=never",
                "--progress=plain",
                "-f",
                copy.toString()));
    command.addAll(List.of(words));
    var all = new HashMap<>(docker.env());
    all.putAll(env);
    return Processes.run(Command.of(command).withEnv(all), Deadline.after(Duration.ofSeconds(60)));
  }

  private String compose(String file, String... words) throws Exception {
    CommandResult result = run(file, words);
    assertThat(result.code())
        .as("%s: %s%s", String.join(" ", words), result.stdout(), result.stderr())
        .isZero();
    return result.stdout();
  }

  /** The state of each container of a project by its service; the worst one when there are more. */
  private Map<String, String> states(String file, String... options) throws Exception {
    var words = new ArrayList<>(List.of("ps", "--format", "json"));
    words.addAll(List.of(options));
    var states = new TreeMap<String, String>();
    for (String line : compose(file, words.toArray(String[]::new)).lines().toList()) {
      Json one = JsonText.parse(line);
      String health = one.at("Health").string().filter(text -> !text.isEmpty()).orElse("");
      states.merge(
          one.at("Service").string().orElseThrow(),
          one.at("State").string().orElseThrow() + (health.isEmpty() ? "" : " " + health),
          (first, second) -> first.equals(second) ? first : first + ", " + second);
    }
    return states;
  }

  private static String get(int port, String path) throws Exception {
    try (InputStream body =
        URI.create("http://127.0.0.1:%d/%s".formatted(port, path)).toURL().openStream()) {
      return new String(body.readAllBytes(), StandardCharsets.UTF_8).strip();
    }
  }

  @Test
  void servicesWaitForEachOtherAndAreRecreatedOnTheSamePort() throws Exception {
    int port = FreePorts.take();
    env.put("PORT", String.valueOf(port));
    compose("shop.yaml", "up", "-d", "--wait", "db", "web", "worker");
    assertThat(states("shop.yaml", "-a"))
        .containsEntry("db", "running healthy")
        .containsEntry("web", "running healthy")
        .containsEntry("worker", "running")
        .containsEntry("migrate", "exited");
    assertThat(get(port, "schema")).isEqualTo("schema");
    Awaitility.await() // whoever has no health check is only known to run
        .untilAsserted(
            () ->
                assertThat(compose("shop.yaml", "logs", "--no-color", "worker"))
                    .contains("| schema"));
    assertThat(compose("shop.yaml", "logs", "--no-log-prefix", "web")).contains("hello you");
    String before = compose("shop.yaml", "ps", "-q", "web").strip();

    env.put("NAME", "again"); // the new container is made while the old one has the port
    compose("shop.yaml", "up", "-d", "--wait", "db", "web", "worker");

    assertThat(compose("shop.yaml", "ps", "-q", "web").strip()).isNotEqualTo(before);
    assertThat(compose("shop.yaml", "logs", "web")).contains("hello again");
    assertThat(get(port, "schema")).isEqualTo("schema");
    assertThat(compose("shop.yaml", "port", "web", "80").strip()).isEqualTo("127.0.0.1:" + port);
    compose("shop.yaml", "restart", "web");
    Awaitility.await().ignoreExceptions().until(() -> get(port, "schema").equals("schema"));
    compose("shop.yaml", "stop", "web");
    assertThat(states("shop.yaml", "-a")).containsEntry("web", "exited");
    compose("shop.yaml", "down", "--volumes");
    assertThat(docker.out("ps", "-aq")).isEmpty();
    assertThat(docker.out("volume", "ls", "-q")).isEmpty();
    assertThat(docker.out("network", "ls", "-q", "--filter", "type=custom")).isEmpty();
  }

  @Test
  void networksHaveAliasesAddressesAndWalls() throws Exception {
    env.put("SUBNET", "10.214.%d".formatted(ProcessHandle.current().pid() % 200));
    compose("networks.yaml", "up", "-d");
    assertThat(states("networks.yaml"))
        .isEqualTo(Map.of("api", "running", "other", "running", "proxy", "running"));
    Awaitility.await("it listens").until(() -> who("api").success());
    for (String name : List.of("api", "backend", "backend.internal", env.get("SUBNET") + ".10")) {
      CommandResult answer = who(name);
      assertThat(answer.stdout()).as(answer.stderr()).isEqualTo("api\n");
    }
    assertThat(compose("networks.yaml", "exec", "-T", "api", "hostname")).isEqualTo("api-host\n");
    assertThat(run("networks.yaml", "exec", "-T", "other", "nslookup", "api").code()).isNotZero();
    assertThat(compose("networks.yaml", "exec", "-T", "other", "cat", "/etc/hosts"))
        .containsPattern("192\\.0\\.2\\.7\\s+fixed.example");
    assertThat(compose("networks.yaml", "exec", "-T", "api", "ip", "route"))
        .doesNotContain("default");
    compose("networks.yaml", "down");
    assertThat(docker.out("network", "ls", "-q", "--filter", "type=custom")).isEmpty();
  }

  private CommandResult who(String name) throws Exception {
    String url = "http://" + name + ":8080/who";
    return run("networks.yaml", "exec", "-T", "proxy", "wget", "-q", "-O", "-", url);
  }

  @Test
  void volumesOutliveAProjectUnlessAsked() throws Exception {
    Files.writeString(directory.resolve("input"), "from the host\n");
    docker.out("volume", "create", "archive");
    compose("volumes.yaml", "up", "-d");
    Awaitility.await().until(() -> compose("volumes.yaml", "logs", "reader").contains("read"));
    assertThat(compose("volumes.yaml", "logs", "writer")).contains("from the host");
    assertThat(
            run("volumes.yaml", "exec", "-T", "writer", "touch", "/archive/x", "/input", "/new")
                .stderr())
        .contains("/archive/x: Read-only")
        .contains("/new: Read-only");
    assertThat(compose("volumes.yaml", "exec", "-T", "reader", "cat", "/shared/written", "/input"))
        .endsWith("from the host\n");
    assertThat(compose("volumes.yaml", "exec", "-T", "writer", "sh", "-c", "ulimit -n; pwd"))
        .isEqualTo("512\n/shared\n");
    Path copy = directory.resolve("copy");
    compose("volumes.yaml", "cp", "writer:/shared/written", copy.toString());
    assertThat(copy).isNotEmptyFile();
    compose("volumes.yaml", "down");
    assertThat(docker.out("volume", "ls", "-q").lines())
        .containsExactlyInAnyOrder("archive", "store_shared");
    compose("volumes.yaml", "up", "-d", "reader");
    compose("volumes.yaml", "down", "-v");
    assertThat(docker.out("volume", "ls", "-q")).isEqualTo("archive");
  }

  @Test
  void profilesScalesAndSingleRuns() throws Exception {
    Files.writeString(directory.resolve("app.env"), "COLOUR=red\nSIZE=small\n");
    compose("profiles.yaml", "up", "-d", "--scale", "app=3");
    assertThat(states("profiles.yaml")).isEqualTo(Map.of("app", "running"));
    assertThat(compose("profiles.yaml", "ps", "-q").lines()).hasSize(3);
    Awaitility.await()
        .untilAsserted(
            () ->
                assertThat(compose("profiles.yaml", "logs", "--no-log-prefix", "app"))
                    .isEqualTo("red large\n".repeat(3)));
    compose("profiles.yaml", "scale", "app=1");
    assertThat(compose("profiles.yaml", "ps", "-q").lines()).hasSize(1);
    compose("profiles.yaml", "--profile", "debug", "up", "-d");
    assertThat(states("profiles.yaml", "--all"))
        .isEqualTo(Map.of("app", "running", "debug", "running"));
    CommandResult once = run("profiles.yaml", "run", "--rm", "-T", "job");
    assertThat(once.code()).isEqualTo(3);
    assertThat(once.stdout()).isEqualTo("done\n");
    compose("profiles.yaml", "pause", "app");
    assertThat(states("profiles.yaml")).containsEntry("app", "paused");
    compose("profiles.yaml", "unpause", "app");
    assertThat(compose("profiles.yaml", "top", "app")).contains("sleep 300");
    compose("profiles.yaml", "kill", "app");
    compose("profiles.yaml", "--profile", "debug", "down");
    assertThat(docker.out("ps", "-aq")).isEmpty();
  }

  @Test
  void secretsAndConfigsAreFilesInside() throws Exception {
    Files.writeString(directory.resolve("password"), "pass\n");
    Files.writeString(directory.resolve("settings"), "colour=red\n");
    env.put("KEY", "key\n");
    compose("secrets.yaml", "up", "-d");
    Awaitility.await()
        .untilAsserted(
            () ->
                assertThat(compose("secrets.yaml", "logs", "--no-log-prefix", "app"))
                    .isEqualTo("pass\nkey\ncolour=red\nimage=" + Node.IMAGE + "\n"));
    compose("secrets.yaml", "down");
    assertThat(docker.out("ps", "-aq")).isEmpty();
  }
}
