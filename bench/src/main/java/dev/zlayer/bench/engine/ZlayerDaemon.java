package dev.zlayer.bench.engine;

import dev.zlayer.bench.Census;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.process.Command;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The packaged daemon as a process of its own, spoken to over its socket. */
public final class ZlayerDaemon implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofMinutes(3);

  /** For a thousand containers on a machine that has other things to do. */
  private static final Duration MANY_LIMIT = Duration.ofMinutes(15);

  private static final int LONGEST_ANSWER = 64 << 20;

  private final Path program;
  private final Path directory;
  private final Map<String, String> settings;
  private final HttpClient client;
  private Process process;

  /**
   * Starts it with an empty data directory.
   *
   * @param more settings, as variables
   */
  public ZlayerDaemon(Path program, Path directory, Map<String, String> more) throws IOException {
    this.program = program;
    this.directory = directory;
    Path socket = directory.resolve("socket");
    this.settings = new HashMap<>(more);
    settings.put("ZLAYER_DATA_DIR", directory + "/data");
    settings.put("ZLAYER_RUN_DIR", Tool.fleeting(directory).toString());
    settings.put("ZLAYER_SOCKET", socket.toString());
    settings.put("ZLAYER_DOCKER_SOCKET", dockerSocket().toString());
    this.client = HttpClient.open(new HttpAddress.Unix(socket));
    Files.createDirectories(directory);
    this.process = start();
  }

  private Process start() {
    return Tool.daemon(
        Command.of(program.toString(), "serve").withEnv(settings),
        directory.resolve("log"),
        () -> ask("GET", "/ping", Json.Null.INSTANCE));
  }

  /** CPU seconds of the daemon itself so far. */
  public double cpuSeconds() {
    return Census.cpuSeconds(process.pid());
  }

  /** How many descriptors it has open. */
  public long descriptors() {
    return Census.descriptors(process.pid());
  }

  public long threads() {
    return Census.threads(process.pid());
  }

  /** MiB of its heap in use, with garbage; {@code collect} has that removed before. */
  public double heap(boolean collect) throws IOException, InterruptedException {
    if (collect) {
      String _ =
          Tool.run(
              System.getProperty("java.home") + "/bin/jcmd",
              Long.toString(process.pid()),
              "GC.run");
    }
    return metric("jvm_heap_used_bytes") / (1 << 20);
  }

  /** MiB that its heap may have. */
  public double heapLimit() throws IOException, InterruptedException {
    return metric("jvm_heap_max_bytes") / (1 << 20);
  }

  private double metric(String name) throws IOException, InterruptedException {
    return ask("GET", "/metrics", Json.Null.INSTANCE)
        .lines()
        .filter(line -> line.startsWith(name + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(name.length() + 1)))
        .findFirst()
        .orElseThrow();
  }

  /** Ends it without a chance to prepare for that, and starts it again; until it answers. */
  public void crash() throws InterruptedException {
    process.destroyForcibly().waitFor();
    restart();
  }

  /** Asks it to end, and waits for that. */
  public void stop() {
    Tool.end(process);
  }

  /** Starts it again after it has ended; until it answers. */
  public void restart() {
    process = start();
  }

  /** Runs a command against it. */
  public String run(String... words) throws InterruptedException {
    return Tool.run(command(List.of(words)));
  }

  /** Applies a file of many containers and waits until all run. */
  public void up(Path file) throws InterruptedException {
    String _ = waiting("up", file.toString());
  }

  /** Removes a deployment of many containers and waits until none is left. */
  public void down(String deployment) throws InterruptedException {
    String _ = waiting("down", deployment);
  }

  private String waiting(String verb, String what) throws InterruptedException {
    String seconds = MANY_LIMIT.toSeconds() + "s";
    return Tool.run(command(List.of(verb, what, "--wait", seconds, "-q")), MANY_LIMIT.plus(LIMIT));
  }

  private Command command(List<String> words) {
    var command = new ArrayList<>(List.of(program.toString()));
    command.addAll(words);
    return Command.of(command).withEnv(settings);
  }

  /** Asks for something; an answer that is no success is an error. */
  public String ask(String method, String path, Json body)
      throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.of(method, "/api/v1" + path);
    if (!body.isNull()) {
      request = request.withJson(JsonText.print(body));
    }
    try (var answer = client.send(request, Deadline.after(LIMIT))) {
      String text = answer.text(LONGEST_ANSWER);
      if (!answer.success()) {
        throw new IOException(request + ": " + text);
      }
      return text;
    }
  }

  /** How many bytes the answer has, which are not kept. */
  public long count(String path) throws IOException, InterruptedException {
    try (var answer = client.send(HttpRequest.get("/api/v1" + path), Deadline.after(LIMIT))) {
      return answer.body().transferTo(java.io.OutputStream.nullOutputStream());
    }
  }

  /** Where clients of Docker reach it. */
  Path dockerSocket() {
    return directory.resolve("docker");
  }

  public Path directory() {
    return directory;
  }

  /** The port of loopback where its name server answers. */
  public int namePort() throws IOException {
    Path file = Tool.fleeting(directory).resolve("endpoints/nameserver.json");
    return (int) (long) JsonText.parse(Files.readAllBytes(file)).at("port").integer().orElseThrow();
  }

  /** MiB of the daemon and of the monitors it left beside containers. */
  public double memory() {
    return ownMemory() + monitorMemory();
  }

  /** MiB of the daemon alone. */
  public double ownMemory() {
    return Census.memory(process.pid());
  }

  /** MiB of the monitors beside containers. */
  public double monitorMemory() {
    String data = directory.toString();
    return Census.memory(line -> line.contains("conmon") && line.contains(data));
  }

  @Override
  public void close() {
    client.close();
    Tool.end(process);
  }
}
