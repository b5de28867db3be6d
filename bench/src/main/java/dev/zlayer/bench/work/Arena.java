package dev.zlayer.bench.work;

import dev.zlayer.bench.Options;
import dev.zlayer.bench.engine.ContainerdEngine;
import dev.zlayer.bench.engine.DockerEngine;
import dev.zlayer.bench.engine.Dockerd;
import dev.zlayer.bench.engine.Engine;
import dev.zlayer.bench.engine.FloorEngine;
import dev.zlayer.bench.engine.PodmanEngine;
import dev.zlayer.bench.engine.RestEngine;
import dev.zlayer.bench.engine.Tool;
import dev.zlayer.bench.engine.ZlayerDaemon;
import dev.zlayer.bench.engine.ZlayerEngine;
import dev.zlayer.bench.engine.ZlayerNode;
import dev.zlayer.bench.pull.FreshPlaces;
import dev.zlayer.bench.pull.Gallery;
import dev.zlayer.oci.ImageRef;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Holds the registry and the engines; each is started by its first use and ends on close. */
public final class Arena implements AutoCloseable {
  private final Options options;
  private final Gallery gallery;
  private final FreshPlaces homes;
  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  private @Nullable ContainerdEngine containerd;
  private @Nullable ZlayerDaemon daemon;
  private @Nullable Dockerd dockerd;
  private @Nullable Engines engines;
  private @Nullable FloorEngine likeFloor;

  public Arena(Options options) {
    this.options = options;
    this.gallery = new Gallery(options);
    this.homes = new FreshPlaces(options.directory());
    open.push(gallery);
  }

  /**
   * All that run containers.
   *
   * @param plain without a network: the floor, ours, and the peers
   * @param networked on the default bridge
   */
  public record Engines(Engine floor, List<Engine> plain, List<Engine> networked) {
    public Engines {
      plain = List.copyOf(plain);
      networked = List.copyOf(networked);
    }

    List<Engine> all() {
      var all = new ArrayList<>(plain);
      all.addAll(networked);
      return all;
    }
  }

  public Options options() {
    return options;
  }

  public Gallery gallery() {
    return gallery;
  }

  /** On a file system of its own, so that no contestant pays for what others deleted. */
  public Path home(String name) throws Exception {
    return homes.make(name);
  }

  /** A directory of that name which does not exist yet. */
  public Path directory(String name) {
    return options.directory().resolve(name);
  }

  public boolean containerdWanted() {
    return wanted("containerd", "containerd");
  }

  public Optional<ContainerdEngine> containerd() throws Exception {
    if (containerd == null && containerdWanted()) {
      String image = gallery.busybox().canonical();
      containerd = keep(new ContainerdEngine(home("containerd"), image, options.controlGroup()));
      containerd.pull(image);
    }
    return Optional.ofNullable(containerd);
  }

  public boolean podmanWanted() {
    return wanted("podman", "podman");
  }

  /** Our own daemon; empty when it is not packaged. */
  public Optional<ZlayerDaemon> daemon() throws Exception {
    Path program = program();
    if (daemon == null && Files.isExecutable(program)) {
      daemon = keep(new ZlayerDaemon(program, home("daemon"), Map.of()));
    }
    return Optional.ofNullable(daemon);
  }

  /** Another daemon, with nothing in it yet; whoever asks closes it. */
  public ZlayerDaemon freshDaemon(String name, Map<String, String> settings) throws Exception {
    return new ZlayerDaemon(program(), home(name), settings);
  }

  /** The packaged command line, whether it is there or not. */
  public Path program() {
    return options.project().resolve("dist/bin/zlayer");
  }

  /** Engines that speak Docker's API, on the default bridge: ours first, then Docker if wanted. */
  public List<DockerEngine> dockers() throws Exception {
    var dockers = new ArrayList<DockerEngine>();
    String image = gallery.busybox().canonical();
    if (daemon().isPresent()) {
      dockers.add(DockerEngine.of(daemon().get(), image, "bridge"));
    }
    if (wanted("docker", "dockerd")) {
      dockers.add(new DockerEngine(dockerd(), image, "bridge"));
    }
    return dockers;
  }

  private Dockerd dockerd() throws Exception {
    if (dockerd == null) {
      dockerd =
          keep(new Dockerd(home("docker"), gallery.busybox().canonical(), options.controlGroup()));
    }
    return dockerd;
  }

  public Engines engines() throws Exception {
    if (engines == null) {
      engines = makeEngines();
    }
    return engines;
  }

  /** The bare parts with the bundles that ours writes: filters, limits and mounts alike. */
  public Engine likeFloor() throws Exception {
    engines();
    return java.util.Objects.requireNonNull(likeFloor);
  }

  private Engines makeEngines() throws Exception {
    ImageRef busybox = gallery.busybox();
    String group = options.controlGroup();
    var node = keep(new ZlayerNode(home("zlayer")));
    String chosen = node.ociRuntime().getFileName().toString();
    if (!options.runtime().isEmpty() && !options.runtime().equals(chosen)) {
      throw new IllegalArgumentException(
          "the runtime is %s, not %s: zlayer info tells why".formatted(chosen, options.runtime()));
    }
    node.pull(busybox);
    var floor = new FloorEngine(home("floor"), node.ociRuntime(), node.layers(busybox), group);
    var plain = new ArrayList<Engine>(List.of(floor));
    var networked = new ArrayList<Engine>();
    var zlayer = new ZlayerEngine(node, busybox, false, group);
    plain.add(zlayer);
    likeFloor =
        new FloorEngine(
            home("like-floor"),
            node.ociRuntime(),
            node.layers(busybox),
            group,
            ", same config",
            zlayer.template());
    networked.add(new ZlayerEngine(node, busybox, true, group));
    if (daemon().isPresent()) {
      plain.add(new RestEngine(daemon().get(), busybox, group));
    }
    containerd().ifPresent(plain::add);
    if (wanted("docker", "dockerd")) {
      String image = busybox.canonical();
      plain.add(new DockerEngine(dockerd(), image, "none"));
      networked.add(new DockerEngine(dockerd(), image, "bridge"));
    }
    if (podmanWanted()) {
      var podman =
          new PodmanEngine(
              home("podman"), node.ociRuntime(), busybox.canonical(), busybox.host(), group);
      podman.pull(busybox.canonical());
      plain.add(podman);
      networked.add(podman.onBridge());
    }
    return new Engines(floor, plain, networked);
  }

  private boolean wanted(String peer, String program) {
    return options.peers().contains(peer) && Tool.installed(program);
  }

  private <T extends AutoCloseable> T keep(T opened) {
    open.push(opened);
    return opened;
  }

  @Override
  public void close() throws Exception {
    while (!open.isEmpty()) {
      open.pop().close();
    }
  }
}
