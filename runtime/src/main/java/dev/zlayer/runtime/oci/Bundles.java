package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.linux.RootedFiles;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.runtime.cni.Attachment;
import dev.zlayer.runtime.cni.ContainerNetworks;
import dev.zlayer.runtime.cni.NamedNetwork;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.oci.config.BundleConfig;
import dev.zlayer.runtime.oci.config.BundleInput;
import dev.zlayer.runtime.oci.config.EtcFiles;
import dev.zlayer.runtime.oci.config.User;
import dev.zlayer.runtime.oci.config.UserFiles;
import dev.zlayer.runtime.oci.gpu.GpuWiring;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Writes what the OCI runtime reads: config.json and the files shown under /etc. */
final class Bundles {
  private static final int USER_FILE_LIMIT = 4 << 20;
  private final OciContext context;

  Bundles(OciContext context) {
    this.context = context;
  }

  void write(
      ContainerState state,
      ImageDetails.RunConfig image,
      Path root,
      Network network,
      List<BundleInput.Bind> volumes,
      GpuWiring.Wired gpu)
      throws IOException {
    ContainerRecord record = state.record();
    ContainerSpec spec = record.spec();
    List<BundleInput.Bind> binds = new ArrayList<>(volumes);
    binds.addAll(etc(state, network, volumes));
    Path sharedMemory = new SharedMemory(context).of(state);
    Optional<UserMounts> users = UserMounts.of(context, state);
    if (users.isPresent()) {
      binds = users.get().plan(binds, sharedMemory);
      sharedMemory = users.get().sharedMemory();
    }
    var devices = new ArrayList<>(new Devices().of(spec.security()));
    devices.addAll(gpu.devices());
    var input =
        new BundleInput(
            spec,
            image,
            record.command(),
            user(
                root,
                spec.process().user().or(image::user).orElse(""),
                spec.process().extraGroups()),
            users.map(UserMounts::root).orElse(root),
            network.hostname(),
            network.host(),
            network.namespace(),
            sharedMemory,
            binds,
            devices,
            gpu.extra(),
            users.map(UserMounts::users),
            context.cgroup(state).oci(),
            context.host());
    change(state, RootPreparation.apply(root, BundleConfig.of(input), 0));
  }

  /** Makes again what the container, or a copy into it, may have replaced by links meanwhile. */
  void prepareRoot(ContainerState state, Path root) throws IOException {
    Json written = config(state);
    long owner = UserMounts.of(context, state).map(UserMounts::owner).orElse(0L);
    Json prepared = RootPreparation.apply(root, written, owner);
    if (!prepared.equals(written)) {
      change(state, prepared);
    }
  }

  /** Shows the configuration where the runtime looks for it; a reboot takes that place. */
  static void link(ContainerState state) throws IOException {
    Path link = state.directory().bundleConfig();
    if (!Files.isSymbolicLink(link)) {
      Files.createSymbolicLink(link, state.directory().config());
    }
  }

  /** Who a user is by the files in a root; never guesses. */
  static User user(Path root, String user, List<String> extraGroups) throws IOException {
    return new UserFiles(text(root, "/etc/passwd"), text(root, "/etc/group"))
        .lookup(user, extraGroups);
  }

  private static String text(Path root, String path) throws IOException {
    return new String(
        RootedFiles.read(root, path, USER_FILE_LIMIT).orElse(new byte[0]), StandardCharsets.UTF_8);
  }

  /** Changes config.json for namespaces of other containers, which have to run by now. */
  void join(ContainerState state) throws IOException {
    SecuritySpec security = state.record().spec().security();
    Map<String, Long> pids = new HashMap<>();
    if (security.pid() instanceof SecuritySpec.Namespace.Shared(var with)) {
      pids.put("pid", Others.pid(context, with));
    }
    if (security.ipc() instanceof SecuritySpec.Namespace.Shared(var with)) {
      pids.put("ipc", Others.pid(context, with));
    }
    if (state.record().spec().network().mode() instanceof NetworkSpec.Mode.Shared(var with)) {
      ContainerState owner = Others.networkOwner(context, with);
      long pid = Others.pid(context, owner.record().id());
      if (owner.record().spec().network().mode() instanceof NetworkSpec.Mode.None) {
        pids.put("network", pid);
      }
    }
    if (!pids.isEmpty()) {
      change(state, BundleConfig.joining(config(state), pids));
    }
  }

  /** Changes what was written for a network namespace that is no more. */
  void reattach(ContainerState state, Attachment attached) throws IOException {
    NetworkSpec network = state.record().spec().network();
    change(state, BundleConfig.inNetwork(config(state), attached.netns()));
    Files.writeString(
        state.directory().etc("hosts"),
        EtcFiles.hosts(
            network, network.hostname().orElse(state.name()), attached.ip(), attached.gateway()));
  }

  /**
   * Writes the names and name servers of a container whose networks have changed. The files stay
   * the same ones, which a running container has mounted.
   */
  void renamed(ContainerState state) {
    NetworkSpec network = state.record().spec().network();
    Optional<Attachment> attached = context.networks().find(state.name());
    Optional<String> named =
        context.networks().members().memberships(state.name()).stream()
            .map(ContainerNetworks.Member::network)
            .filter(name -> !name.equals(NamedNetwork.DEFAULT))
            .findFirst();
    var now =
        new NetworkSpec(
            new NetworkSpec.Mode.Bridge(named),
            network.hostname(),
            network.ports(),
            network.dns(),
            network.dnsSearch(),
            network.hosts());
    Map<String, String> texts =
        EtcFiles.texts(
            now,
            network.hostname().orElse(state.name()),
            attached.flatMap(Attachment::ip),
            attached.flatMap(Attachment::gateway),
            hostResolvConf(now),
            context.settings().nameServers().own());
    try {
      for (String name : List.of("hosts", "resolv.conf")) {
        Files.writeString(state.directory().etc(name), texts.getOrDefault("/etc/" + name, ""));
      }
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot write the names of container %s: %s"
              .formatted(state.record().id(), e.getMessage()),
          e);
    }
  }

  void limits(ContainerState state, Json limits) throws IOException {
    change(state, BundleConfig.withLimits(config(state), limits));
  }

  Json config(ContainerState state) throws IOException {
    return JsonText.parse(Files.readAllBytes(state.directory().config()));
  }

  /** That of {@link #config}; the much longer rest is not read. */
  Json process(ContainerState state) throws IOException {
    return JsonText.member(Files.readAllBytes(state.directory().config()), "process");
  }

  private static void change(ContainerState state, Json config) throws IOException {
    AtomicFile.writeRelaxed(state.directory().config(), JsonText.bytes(config));
  }

  /** Of a network, what a bundle depends on. */
  record Network(
      boolean host,
      Optional<Path> namespace,
      String hostname,
      Optional<InetAddress> ip,
      Optional<InetAddress> gateway,
      Optional<ContainerDir> sharedEtc) {}

  private List<BundleInput.Bind> etc(
      ContainerState state, Network network, List<BundleInput.Bind> volumes) throws IOException {
    ContainerDir directory = network.sharedEtc().orElse(state.directory());
    var binds = new ArrayList<BundleInput.Bind>();
    Map<String, String> texts =
        EtcFiles.texts(
            state.record().spec().network(),
            network.hostname(),
            network.ip(),
            network.gateway(),
            hostResolvConf(state.record().spec().network()),
            context.settings().nameServers().own());
    for (var text : texts.entrySet()) {
      Path file = directory.etc(Path.of(text.getKey()).getFileName().toString());
      if (network.sharedEtc().isEmpty()) {
        Files.writeString(file, text.getValue());
      }
      if (volumes.stream().noneMatch(bind -> bind.target().equals(text.getKey()))) {
        // else a container that may write nowhere could fill the disk of the host
        boolean readOnly = state.record().spec().fileSystem().readOnlyRoot();
        binds.add(new BundleInput.Bind(file, text.getKey(), readOnly, true));
      }
    }
    return binds;
  }

  /**
   * Where systemd-resolved listens on loopback, which containers cannot reach, it keeps the list of
   * the servers that it asks itself.
   */
  private String hostResolvConf(NetworkSpec network) {
    String usual = text(context.settings().nameServers().resolvConf());
    if (network.mode() instanceof NetworkSpec.Mode.Host || EtcFiles.reachable(usual)) {
      return usual;
    }
    String behind = text(context.settings().nameServers().resolvedConf());
    return EtcFiles.reachable(behind) ? behind : usual;
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException _) {
      return ""; // a host without name servers is a host whose containers have none
    }
  }

  /** Other containers that this one shares namespaces with. */
  static final class Others {
    private Others() {}

    static ContainerState state(OciContext context, dev.zlayer.container.ContainerId id) {
      return context
          .find(id)
          .orElseThrow(
              () ->
                  new AgentException.NotFound(
                      "container " + id, "another one wants to share a namespace with it"));
    }

    static long pid(OciContext context, dev.zlayer.container.ContainerId id) {
      return state(context, id)
          .record()
          .pid()
          .orElseThrow(
              () ->
                  new AgentException.InvalidSpec(
                      "container '%s' is not running, so its namespaces cannot be shared; start it first"
                          .formatted(id)));
    }

    /** Follows sharing to the container that has the network itself. */
    static ContainerState networkOwner(OciContext context, dev.zlayer.container.ContainerId id) {
      ContainerState state = state(context, id);
      return state.record().spec().network().mode() instanceof NetworkSpec.Mode.Shared(var with)
          ? networkOwner(context, with)
          : state;
    }
  }
}
