package dev.zlayer.bench.engine;

import dev.zlayer.bench.Census;
import dev.zlayer.host.process.Command;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;

/** A containerd of our own, driven by its command line {@code ctr}, without a network. */
public final class ContainerdEngine implements Engine {
  public static final String NAME = "containerd";

  private final Path directory;
  private final String image;
  private final String controlGroup;
  private final Process daemon;
  private final AtomicInteger counter = new AtomicInteger();

  /** Starts it with an empty store; {@code image} is what containers are made of. */
  public ContainerdEngine(Path directory, String image, String controlGroup) throws IOException {
    this.directory = directory;
    this.image = image;
    this.controlGroup = controlGroup + "/containerd";
    Files.createDirectories(directory);
    Path config = directory.resolve("config.toml");
    Files.writeString(
        config,
        """
        version = 2
        root = "%1$s/root"
        state = "%2$s"
        disabled_plugins = ["io.containerd.grpc.v1.cri"]
        [grpc]
          address = "%1$s/socket"
        [debug]
          level = "warn"
        """
            .formatted(directory, Tool.fleeting(directory)));
    this.daemon =
        Tool.daemon(
            Command.of("containerd", "-c", config.toString()),
            directory.resolve("log"),
            () -> ctr("version"));
  }

  @Override
  public String name() {
    return NAME;
  }

  public void pull(String reference) throws InterruptedException {
    ctr("image", "pull", "--plain-http", reference);
  }

  @Override
  public void runTrue() throws InterruptedException {
    String name = "t" + counter.incrementAndGet();
    run(name, List.of("--rm"), List.of("/bin/true"));
  }

  @Override
  public void startSleeper(String name) throws InterruptedException {
    run(name, List.of("--detach"), SLEEP);
  }

  @Override
  public void execTrue(String name) throws InterruptedException {
    ctr("task", "exec", "--exec-id", "e" + counter.incrementAndGet(), name, "/bin/true");
  }

  @Override
  public void remove(String name) throws InterruptedException {
    ctr("task", "rm", "--force", name);
    ctr("container", "rm", name);
  }

  @Override
  public void printLog(String name, long bytes) throws InterruptedException {
    List<String> options = List.of("--detach", "--log-uri", "file://" + log(name));
    run(name, options, Engine.printing(bytes));
    Awaitility.await("the end of " + name)
        .atMost(java.time.Duration.ofMinutes(3))
        .pollInterval(java.time.Duration.ofMillis(20))
        .until(() -> ctr("task", "ls").lines().noneMatch(line -> running(line, name)));
  }

  private static boolean running(String line, String name) {
    return line.startsWith(name + " ") && line.endsWith("RUNNING");
  }

  @Override
  public long readLog(String name) throws IOException {
    var buffer = new byte[1 << 20];
    long bytes = 0;
    try (InputStream in = Files.newInputStream(log(name))) {
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        bytes += count;
      }
    }
    Files.delete(log(name));
    return bytes;
  }

  @Override
  public int list() throws InterruptedException {
    return (int) ctr("task", "ls", "--quiet").lines().filter(line -> !line.isBlank()).count();
  }

  @Override
  public Path home() {
    return directory;
  }

  @Override
  public void inspect(String name) throws InterruptedException {
    ctr("container", "info", name);
  }

  @Override
  public void stats(String name) throws InterruptedException {
    ctr("task", "metrics", name);
  }

  @Override
  public double memory() {
    return Census.memory(line -> line.contains(directory.toString()));
  }

  private void run(String name, List<String> options, List<String> command)
      throws InterruptedException {
    var words = new ArrayList<>(List.of("run", "--cgroup", controlGroup + "/" + name));
    words.addAll(options);
    words.addAll(List.of(image, name));
    words.addAll(command);
    ctr(words.toArray(String[]::new));
  }

  private String ctr(String... words) throws InterruptedException {
    var command = new ArrayList<>(List.of("ctr", "--address", directory + "/socket"));
    command.addAll(List.of(words));
    return Tool.run(command);
  }

  private Path log(String name) {
    return directory.resolve(name + ".log");
  }

  @Override
  public void close() {
    Tool.end(daemon);
  }
}
