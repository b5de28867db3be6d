package dev.zlayer.bench.engine;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Our daemon through its REST API, without a network. */
public final class RestEngine implements Engine {
  private final ZlayerDaemon daemon;
  private final ImageRef image;
  private final String controlGroup;
  private final AtomicInteger counter = new AtomicInteger();

  public RestEngine(ZlayerDaemon daemon, ImageRef image, String controlGroup)
      throws IOException, InterruptedException {
    this.daemon = daemon;
    this.image = image;
    this.controlGroup = controlGroup + "/rest";
    daemon.ask("POST", "/images/pull", Json.object().put("ref", image.canonical()).build());
  }

  @Override
  public String name() {
    return "zlayer, REST";
  }

  @Override
  public void runTrue() throws Exception {
    String name = "t" + counter.incrementAndGet();
    create(name, List.of("/bin/true"));
    awaitSuccess(name);
    daemon.ask("DELETE", "/containers/" + name, Json.Null.INSTANCE);
  }

  /** As somebody at a terminal does it, with a JVM of its own. */
  public void runByCommand() throws InterruptedException {
    daemon.run(
        "run",
        "--rm",
        "--network=none",
        "--cgroup-parent=" + controlGroup,
        image.canonical(),
        "/bin/true");
  }

  /** The same for a further process in a container. */
  public void execByCommand(String name) throws InterruptedException {
    daemon.run("exec", name, "/bin/true");
  }

  @Override
  public void startSleeper(String name) throws Exception {
    create(name, SLEEP);
  }

  @Override
  public void execTrue(String name) throws Exception {
    String told =
        daemon.ask(
            "POST",
            "/containers/" + name + "/exec",
            Json.object().put("command", List.of("/bin/true")).build());
    String last = told.strip().lines().reduce("{}", (_, line) -> line);
    if (JsonText.parse(last).at("code").integer().orElse(-1L) != 0) {
      throw new IOException("true: " + told);
    }
  }

  @Override
  public void remove(String name) throws Exception {
    daemon.ask("DELETE", "/containers/" + name + "?force=true", Json.Null.INSTANCE);
  }

  @Override
  public void printLog(String name, long bytes) throws Exception {
    create(name, Engine.printing(bytes));
    awaitSuccess(name);
  }

  @Override
  public long readLog(String name) throws Exception {
    return daemon.count("/containers/" + name + "/logs?format=raw");
  }

  @Override
  public int list() throws Exception {
    return JsonText.parse(daemon.ask("GET", "/containers", Json.Null.INSTANCE)).items().size();
  }

  @Override
  public Path home() {
    return daemon.directory();
  }

  @Override
  public void inspect(String name) throws Exception {
    daemon.ask("GET", "/containers/" + name, Json.Null.INSTANCE);
  }

  @Override
  public void stats(String name) throws Exception {
    daemon.ask("GET", "/containers/" + name + "/stats", Json.Null.INSTANCE);
  }

  @Override
  public double memory() {
    return daemon.memory();
  }

  private void create(String name, List<String> command) throws IOException, InterruptedException {
    daemon.ask(
        "POST",
        "/containers",
        Json.object()
            .put("name", name)
            .put("image", Json.object().put("name", image.canonical()).build())
            .put("command", Json.object().put("args", command).build())
            .put("network_mode", "none")
            .put("cgroup_parent", controlGroup)
            .put("logs", Json.object().put("max_size_bytes", 1L << 30).build())
            .build());
  }

  private void awaitSuccess(String name) throws IOException, InterruptedException {
    String told = daemon.ask("POST", "/containers/" + name + "/wait", Json.Null.INSTANCE);
    if (JsonText.parse(told).at("code").integer().orElse(-1L) != 0) {
      throw new IOException(name + " ended: " + told);
    }
  }

  @Override
  public void close() {
    // the daemon is closed by its owner
  }
}
