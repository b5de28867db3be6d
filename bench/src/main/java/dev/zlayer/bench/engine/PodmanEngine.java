package dev.zlayer.bench.engine;

import dev.zlayer.bench.Census;
import dev.zlayer.host.process.Command;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Podman by its command line, which is how it is used: it has no daemon. */
public final class PodmanEngine implements Engine {
  public static final String NAME = "podman";

  private final Path directory;
  private final String image;
  private final String controlGroup;
  private final String network;
  private final Map<String, String> settings;

  /**
   * Gives it places of its own; containers have no network.
   *
   * @param image what they are made of, once it was pulled
   * @param registry where images come from, without TLS
   */
  public PodmanEngine(
      Path directory, Path ociRuntime, String image, String registry, String controlGroup)
      throws IOException {
    this(
        directory,
        image,
        controlGroup + "/podman",
        "none",
        settings(Files.createDirectories(directory), ociRuntime, registry));
  }

  private PodmanEngine(
      Path directory,
      String image,
      String controlGroup,
      String network,
      Map<String, String> settings) {
    this.directory = directory;
    this.image = image;
    this.controlGroup = controlGroup;
    this.network = network;
    this.settings = settings;
  }

  /** The same with its default network, which is a bridge. */
  public PodmanEngine onBridge() {
    return new PodmanEngine(directory, image, controlGroup, "podman", settings);
  }

  private static Map<String, String> settings(Path directory, Path ociRuntime, String registry)
      throws IOException {
    return Map.of(
        "CONTAINERS_CONF",
        write(
            directory,
            "containers.conf",
            """
            [engine]
            cgroup_manager = "cgroupfs"
            events_logger = "file"
            runtime = "%s"
            [containers]
            log_driver = "k8s-file"
            [network]
            network_backend = "cni"
            network_config_dir = "%s/networks"
            cni_plugin_dirs = ["/usr/lib/cni"]
            """
                .formatted(ociRuntime.getFileName(), directory)),
        "CONTAINERS_STORAGE_CONF",
        write(
            directory,
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
            directory,
            "registries.conf",
            """
            [[registry]]
            location = "%s"
            insecure = true
            """
                .formatted(registry)));
  }

  private static String write(Path directory, String name, String content) throws IOException {
    return Files.writeString(directory.resolve(name), content).toString();
  }

  public void pull(String reference) throws InterruptedException {
    podman("pull", "--quiet", reference);
  }

  @Override
  public String name() {
    return network.equals("none") ? NAME : NAME + ", bridge";
  }

  @Override
  public void runTrue() throws InterruptedException {
    run(List.of("--rm"), List.of("/bin/true"));
  }

  /** The same with its output. */
  public void runJob() throws IOException, InterruptedException {
    String printed = run(List.of("--rm"), PRINT_AND_END);
    if (!printed.equals(PRINTED)) {
      throw new IOException("printed '%s'".formatted(printed));
    }
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

  private String run(List<String> options, List<String> command) throws InterruptedException {
    var words = new ArrayList<>(List.of("run", "--network=" + network));
    words.add("--cgroup-parent=" + controlGroup);
    words.addAll(options);
    words.add(image);
    words.addAll(command);
    return podman(words.toArray(String[]::new));
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
