package dev.zlayer.bench.engine;

import dev.zlayer.bench.Census;
import dev.zlayer.json.Json;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleSupplier;

/**
 * Docker through its HTTP interface, which costs less than its command line; or our daemon through
 * the same interface.
 */
public final class DockerEngine implements Engine {
  private final DockerApi api;
  private final String contestant;
  private final String directory;
  private final String image;
  private final String network;
  private final DoubleSupplier processor;

  /**
   * Shares the daemon with others.
   *
   * @param network {@code none} or {@code bridge}
   */
  public DockerEngine(Dockerd daemon, String image, String network) {
    this(
        daemon.api(),
        "docker",
        daemon.directory(),
        image,
        network,
        () -> Census.cpuSeconds(line -> line.contains(daemon.directory().toString())));
  }

  private DockerEngine(
      DockerApi api,
      String contestant,
      Path directory,
      String image,
      String network,
      DoubleSupplier processor) {
    this.api = api;
    this.contestant = contestant;
    this.directory = directory.toString();
    this.image = image;
    this.network = network;
    this.processor = processor;
  }

  /** Our daemon on its socket for clients of Docker. */
  public static DockerEngine of(ZlayerDaemon daemon, String image, String network)
      throws IOException {
    var api = new DockerApi(daemon.dockerSocket());
    api.pull(image);
    String monitors = daemon.directory().toString();
    return new DockerEngine(
        api,
        "zlayer, Docker's API",
        daemon.directory(),
        image,
        network,
        // its own command line does not name the directory, those of the monitors do
        () -> daemon.cpuSeconds() + Census.cpuSeconds(line -> line.contains(monitors)));
  }

  @Override
  public String name() {
    return network.equals("none") ? contestant : contestant + ", " + network;
  }

  @Override
  public void runTrue() throws IOException {
    String id = create("", List.of("/bin/true"));
    api.post("/containers/" + id + "/start");
    awaitSuccess(id);
    api.delete("/containers/" + id);
  }

  /** As somebody at a terminal does it; in the daemon's default control group. */
  public void runByCommand() throws InterruptedException {
    run("run", "--rm", "--network=" + network, image, "/bin/true");
  }

  /** Docker's own command line. */
  public void run(String... words) throws InterruptedException {
    var command = new ArrayList<>(List.of("docker", "--host=unix://" + api.socket()));
    command.addAll(List.of(words));
    Tool.run(command);
  }

  /** As a script does it that wants the output: create, start, wait, logs, remove. */
  public void runJob() throws IOException {
    String id = create("", PRINT_AND_END);
    api.post("/containers/" + id + "/start");
    awaitSuccess(id);
    if (readLog(id) < PRINTED.length()) {
      throw new IOException("no output");
    }
    api.delete("/containers/" + id);
  }

  @Override
  public void startSleeper(String name) throws IOException {
    api.post("/containers/" + create(name, SLEEP) + "/start");
  }

  @Override
  public void execTrue(String name) throws IOException {
    Json request =
        Json.object()
            .put("Cmd", List.of("/bin/true"))
            .put("AttachStdout", true)
            .put("AttachStderr", true)
            .build();
    String id = api.post("/containers/" + name + "/exec", request).at("Id").string().orElseThrow();
    api.count("POST", "/exec/" + id + "/start", Json.object().put("Detach", false).build());
    long code = api.read("/exec/" + id + "/json").at("ExitCode").integer().orElse(-1L);
    if (code != 0) {
      throw new IOException("true exited with " + code);
    }
  }

  @Override
  public void remove(String name) throws IOException {
    api.delete("/containers/" + name + "?force=true");
  }

  @Override
  public void printLog(String name, long bytes) throws IOException {
    api.post("/containers/" + create(name, Engine.printing(bytes)) + "/start");
    awaitSuccess(name);
  }

  @Override
  public long readLog(String name) throws IOException {
    return api.count("GET", "/containers/" + name + "/logs?stdout=1&stderr=1", Json.Null.INSTANCE);
  }

  @Override
  public int list() throws IOException {
    return api.read("/containers/json").items().size();
  }

  @Override
  public Path home() {
    return Path.of(directory);
  }

  @Override
  public void inspect(String name) throws IOException {
    api.read("/containers/" + name + "/json");
  }

  @Override
  public void stats(String name) throws IOException {
    api.read("/containers/" + name + "/stats?stream=false&one-shot=true");
  }

  /** What it reports of one container, about once a second, for as long as it is open. */
  public InputStream followStats(String name) throws IOException {
    return api.open("/containers/" + name + "/stats?stream=true");
  }

  /** What it reports of all containers as it happens. */
  public InputStream followEvents() throws IOException {
    return api.open("/events");
  }

  /** CPU seconds of all processes it needs besides those in containers. */
  public double cpuSeconds() {
    return processor.getAsDouble();
  }

  @Override
  public double memory() {
    return Census.memory(line -> line.contains(directory));
  }

  private String create(String name, List<String> command) throws IOException {
    Json request =
        Json.object()
            .put("Image", image)
            .put("Cmd", command)
            .put("HostConfig", Json.object().put("NetworkMode", network).build())
            .build();
    String query = name.isEmpty() ? "" : "?name=" + name;
    return api.post("/containers/create" + query, request).at("Id").string().orElseThrow();
  }

  private void awaitSuccess(String id) throws IOException {
    long code = api.post("/containers/" + id + "/wait").at("StatusCode").integer().orElse(-1L);
    if (code != 0) {
      throw new IOException("ended with " + code);
    }
  }

  @Override
  public void close() {
    // the daemon is closed by its owner: several engines share it
  }
}
