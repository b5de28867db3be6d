package dev.zlayer.testkit.cluster;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * An agent in a network namespace, with directories of its own, spoken to over its socket. What it
 * starts outlives it, as on a machine of its own.
 */
public final class TestNode {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int LONGEST_ANSWER = 16 << 20;

  private final String name;
  private final String address;
  private final String namespace;
  private final Path directory;
  private final List<String> serve;
  private final Map<String, String> env;
  private final HttpClient client;
  private Process agent;

  /** What the agent answered. */
  public record Answer(int status, String text) {
    public boolean success() {
      return status / 100 == 2;
    }

    public Json json() {
      return JsonText.parse(text);
    }
  }

  /**
   * Starts the agent; returns when it answers.
   *
   * @param settings its configuration
   */
  TestNode(
      String name,
      String address,
      String namespace,
      Path directory,
      List<String> serve,
      String settings)
      throws IOException, InterruptedException {
    this.name = name;
    this.address = address;
    this.namespace = namespace;
    this.directory = directory;
    this.serve = List.copyOf(serve);
    this.env = new HashMap<>();
    env.put("ZLAYER_DATA_DIR", directory.resolve("data").toString());
    env.put("ZLAYER_CONFIG_DIR", directory.resolve("etc").toString());
    env.put("ZLAYER_NETWORK_PREFIX", namespace + "n");
    env.put("ZLAYER_NETWORK_POOL", "0");
    env.put("ZLAYER_SOCKET", directory.resolve("socket").toString());
    env.put("ZLAYER_DOCKER_SOCKET", directory.resolve("docker").toString());
    env.put("HOME", directory.toString());
    this.client = HttpClient.open(new HttpAddress.Unix(directory.resolve("socket")));
    Path etc = Files.createDirectories(directory.resolve("etc"));
    Files.writeString(etc.resolve("zlayer.yml"), settings);
    this.agent = begin();
    awaitAgent();
  }

  private Process begin() {
    var words = new ArrayList<>(List.of("nsenter", "--net=/run/netns/" + namespace));
    words.addAll(serve);
    return Processes.start(Command.of(words).withEnv(env), directory.resolve("log").toFile());
  }

  private void awaitAgent() throws IOException, InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    while (!answers()) {
      if (!agent.isAlive()) {
        throw new IllegalStateException(
            "agent of '%s' ended: %s".formatted(name, Files.readString(directory.resolve("log"))));
      }
      deadline.check("starting the agent of '%s'".formatted(name));
      Pauses.REAL.pause(Duration.ofMillis(50));
    }
  }

  private boolean answers() throws InterruptedException {
    try {
      return ask("GET", "/ping", Json.Null.INSTANCE, Duration.ofSeconds(5)).success();
    } catch (AgentException _) {
      return false;
    }
  }

  public String name() {
    return name;
  }

  public String address() {
    return address;
  }

  String namespace() {
    return namespace;
  }

  /** Its network, for nsenter. */
  public Path network() {
    return Path.of("/run/netns", namespace);
  }

  public Path directory() {
    return directory;
  }

  /** The process of the agent. */
  public ProcessHandle agent() {
    return agent.toHandle();
  }

  /** The process that stores the state of the cluster here; empty between two of them. */
  public OptionalLong etcd() {
    try {
      String text = Files.readString(etcdDirectory().resolve("etcd.pid")).strip();
      return text.isEmpty() ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(text));
    } catch (IOException | NumberFormatException _) {
      return OptionalLong.empty();
    }
  }

  public Path etcdDirectory() {
    return directory.resolve("data/cluster/etcd");
  }

  /** Ends the agent in the middle of whatever it does. */
  public void killAgent() throws InterruptedException {
    agent.destroyForcibly().waitFor();
  }

  /** Starts the agent if it does not run; returns when it answers. */
  public void startAgent() throws IOException, InterruptedException {
    if (!agent.isAlive()) {
      agent = begin();
    }
    awaitAgent();
  }

  void endAgent() throws InterruptedException {
    agent.destroy();
    if (!agent.waitFor(30, java.util.concurrent.TimeUnit.SECONDS)) {
      killAgent();
    }
  }

  /** A signal for the agent. */
  public void signalAgent(String signal) throws InterruptedException {
    var _ = Host.run("kill", "-" + signal, Long.toString(agent.pid()));
  }

  /** A signal for etcd, if it runs. */
  public void signalEtcd(String signal) throws InterruptedException {
    OptionalLong pid = etcd();
    if (pid.isPresent()) {
      var _ = Host.run("kill", "-" + signal, Long.toString(pid.getAsLong()));
    }
  }

  /** Runs a program in its network. */
  public CommandResult program(String... words) throws InterruptedException {
    var command = new ArrayList<>(List.of("nsenter", "--net=/run/netns/" + namespace));
    command.addAll(List.of(words));
    return Processes.run(Command.of(command), Deadline.after(LIMIT));
  }

  /** Asks for something; whatever the answer is. */
  public Answer ask(String method, String path, Json body, Duration limit)
      throws InterruptedException {
    HttpRequest request = HttpRequest.of(method, "/api/v1" + path);
    return send(body.isNull() ? request : request.withJson(JsonText.print(body)), limit);
  }

  /** The same for any request. */
  public Answer send(HttpRequest request, Duration limit) throws InterruptedException {
    try (var answer = client.send(request, Deadline.after(limit))) {
      return new Answer(answer.status(), answer.text(LONGEST_ANSWER));
    }
  }

  /** Asks, and insists on success. */
  public Json ok(String method, String path, Json body) throws InterruptedException {
    Answer answer = ask(method, path, body, LIMIT);
    if (!answer.success()) {
      throw new IllegalStateException(
          "%s %s on '%s': %d %s".formatted(method, path, name, answer.status(), answer.text()));
    }
    return answer.text().isBlank() ? Json.Null.INSTANCE : answer.json();
  }

  public Json get(String path) throws InterruptedException {
    return ok("GET", path, Json.Null.INSTANCE);
  }

  /** Applies a deployment file. */
  public Answer up(String deployment, String file, Duration limit) throws InterruptedException {
    return up(deployment, file, limit, "");
  }

  /**
   * The same.
   *
   * @param more for the query, each with an ampersand before it
   */
  Answer up(String deployment, String file, Duration limit, String more)
      throws InterruptedException {
    return send(
        HttpRequest.of("PUT", "/api/v1/deployments/" + deployment + "?directory=/" + more)
            .with("Content-Type", "application/yaml")
            .withBody(
                new HttpRequest.Body.Bytes(file.getBytes(java.nio.charset.StandardCharsets.UTF_8))),
        limit);
  }
}
