package dev.zlayer.bench.engine;

import dev.zlayer.bench.Census;
import dev.zlayer.host.process.Command;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Podman by its command line, which is how it is used: it has no daemon. Without a network. */
public final class PodmanEngine implements Engine {
  private final Path directory;
  private final String image;
  private final String controlGroup;
  private final Map<String, String> settings;

  /** Gives it places of its own and pulls {@code image} from {@code registry}. */
  public PodmanEngine(
      Path directory, Path ociRuntime, String image, String registry, String controlGroup)
      throws IOException, InterruptedException {
    this.directory = directory;
    this.image = image;
    this.controlGroup = controlGroup + "/podman";
    Files.createDirectories(directory);
    this.settings =
        Map.of(
            "CONTAINERS_CONF",
            write(
                "containers.conf",
                """
                [engine]
                cgroup_manager = "cgroupfs"
                events_logger = "file"
                runtime = "%s"
                [containers]
                log_driver = "k8s-file"
                """
                    .formatted(ociRuntime.getFileName())),
            "CONTAINERS_STORAGE_CONF",
            write(
                "storage.conf",
                """
                [storage]
                driver = "overlay"
                graphroot = "%1$s/graph"
                runroot = "%2$s"
                """
                    .formatted(directory, Tool.fleeting(directory))),
            "CONTAINERS_REGISTRIES_CONF",
            write(
                "registries.conf",
                """
                [[registry]]
                location = "%s"
                insecure = true
                """
                    .formatted(registry)));
    podman("pull", "--quiet", image);
  }

  private String write(String name, String content) throws IOException {
    return Files.writeString(directory.resolve(name), content).toString();
  }

  @Override
  public String name() {
    return "podman";
  }

  @Override
  public void runTrue() throws InterruptedException {
    run(List.of("--rm"), List.of("/bin/true"));
  }

  @Override
  public void startSleeper(String name) throws InterruptedException {
    run(List.of("--detach", "--name", name), SLEEP);
  }

  @Override
  public void execTrue(String name) throws InterruptedException {
    podman("exec", name, "/bin/true");
  }

  @Override
  public void remove(String name) throws InterruptedException {
    podman("rm", "--force", "--time=0", name);
  }

  @Override
  public void printLog(String name, long bytes) throws InterruptedException {
    run(List.of("--detach", "--name", name), Engine.printing(bytes));
    podman("wait", name);
  }

  @Override
  public long readLog(String name) throws InterruptedException {
    return Long.parseLong(
        Tool.run(Command.of("/bin/sh", "-c", "podman logs " + name + " | wc -c").withEnv(settings))
            .strip());
  }

  @Override
  public int list() throws InterruptedException {
    return (int) podman("ps", "--quiet").lines().count();
  }

  @Override
  public Path home() {
    return directory;
  }

  @Override
  public void inspect(String name) throws InterruptedException {
    podman("inspect", name);
  }

  @Override
  public void stats(String name) throws InterruptedException {
    podman("stats", "--no-stream", name);
  }

  @Override
  public double memory() {
    return Census.memory(line -> line.contains(directory.toString()));
  }

  private void run(List<String> options, List<String> command) throws InterruptedException {
    var words = new ArrayList<>(List.of("run", "--network=none"));
    words.add("--cgroup-parent=" + controlGroup);
    words.addAll(options);
    words.add(image);
    words.addAll(command);
    podman(words.toArray(String[]::new));
  }

  private String podman(String... words) throws InterruptedException {
    var command = new ArrayList<>(List.of("podman"));
    command.addAll(List.of(words));
    return Tool.run(Command.of(command).withEnv(settings));
  }

  @Override
  public void close() {
    // it has no process of its own
  }
}
