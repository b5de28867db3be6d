package dev.zlayer.runtime.oci;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.IdRange;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.runtime.cni.Attachment;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.CreateUndo;
import dev.zlayer.runtime.lifecycle.MemoryLogs;
import dev.zlayer.runtime.lifecycle.Phase;
import dev.zlayer.runtime.oci.config.EtcFiles;
import dev.zlayer.runtime.oci.config.ProcessArguments;
import dev.zlayer.runtime.oci.gpu.GpuWiring;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;

/** Makes everything a process needs; what fails half way is dismantled again. */
final class Creator {
  private final OciContext context;
  private final Bundles bundles;
  private final Remover dismantling;

  Creator(OciContext context) {
    this.context = context;
    this.bundles = new Bundles(context);
    this.dismantling = new Remover(context);
  }

  ContainerState create(ContainerId id, ContainerSpec spec, ImageDetails image)
      throws InterruptedException {
    ContainerRecord record =
        ContainerRecord.creating(
            id,
            spec,
            image,
            ProcessArguments.of(spec.process(), image.run()),
            context.clock().instant());
    Volumes.check(spec.fileSystem().mounts());
    checkOthers(spec);
    try (var _ = context.locks().lock(id.runtimeName())) {
      ContainerDir directory = context.dirs().container(id.runtimeName());
      if (Files.exists(directory.recordFile())) {
        throw new AgentException.Conflict("container %s exists already".formatted(id));
      }
      var state = new ContainerState(directory, record);
      CreateUndo.make(state, () -> make(state, image), () -> dismantling.dismantle(state));
      context.states().put(state.name(), state);
      return state;
    }
  }

  private void make(ContainerState state, ImageDetails image)
      throws IOException, InterruptedException {
    ContainerSpec spec = state.record().spec();
    Files.createDirectories(state.directory().path());
    Files.createDirectories(state.directory().run());
    state.save(record -> record);
    ids(state);
    Optional<UserMounts> users = UserMounts.of(context, state);
    context.faults().reached("create.recorded");
    Path root = context.roots().create(state.name(), image);
    SharedMemory.mount(state);
    context.faults().reached("create.root");
    Bundles.Network network;
    try (var namespace = new OwnNamespaces(context).open(state, users)) {
      network = network(state.name(), spec.network(), namespace.network());
    }
    context.faults().reached("create.network");
    var volumes =
        context
            .volumes()
            .prepare(
                state.directory(),
                state.name(),
                spec.fileSystem().mounts(),
                image.run().volumes(),
                root);
    context.faults().reached("create.volumes");
    MemoryLogs.mount(state);
    state.logs().prepare();
    GpuWiring.Wired gpus = gpus(state);
    bundles.write(state, image.run(), root, network, volumes, gpus);
    if (users.isPresent()) {
      users.get().handOver();
    }
    context.faults().reached("create.bundle");
    state.saveDurably(record -> record.withPhase(Phase.CREATED));
    context.faults().reached("create.done");
  }

  /** Chooses while nobody else does, and notes the choice before it is used. */
  private void ids(ContainerState state) throws InterruptedException {
    ContainerSpec spec = state.record().spec();
    List<Optional<IdRange>> others =
        UserIds.sharedWith(spec).stream()
            .map(other -> Bundles.Others.state(context, other).record().ids())
            .toList();
    boolean wanted = UserIds.wanted(spec, context.settings().users().usual());
    if (!others.isEmpty()) {
      UserIds.shared(spec, others).ifPresent(ids -> state.save(record -> record.withIds(ids)));
    } else if (wanted) {
      checkRuntime();
      try (var _ = context.locks().lock("user ids")) {
        var taken = new HashSet<IdRange>();
        context.states().values().forEach(other -> other.record().ids().ifPresent(taken::add));
        IdRange ids = UserIds.choose(context.settings().users(), state.name(), taken);
        state.save(record -> record.withIds(ids));
        context.states().put(state.name(), state);
      }
    }
  }

  /** crun gives its standard streams, and with them the host's /dev/null, to the mapped root. */
  private void checkRuntime() {
    Path program = context.runtime().program();
    if (!program.endsWith("runc")) {
      throw new AgentException.Unsupported(
          "users of its own: %s would give the host's /dev/null to the container's root; use runc, or write userns_mode: host"
              .formatted(program.getFileName()));
    }
  }

  /** Chooses as for users. */
  private GpuWiring.Wired gpus(ContainerState state) throws InterruptedException {
    Optional<GpuRequest> request = state.record().spec().gpu();
    if (request.isEmpty()) {
      return GpuWiring.Wired.NOTHING;
    }
    return context
        .gpus()
        .wire(
            request.get(),
            wired -> {
              state.save(record -> record.withGpus(wired.names()));
              context.states().put(state.name(), state);
            });
  }

  private void checkOthers(ContainerSpec spec) {
    for (SecuritySpec.Namespace namespace : List.of(spec.security().pid(), spec.security().ipc())) {
      if (namespace instanceof SecuritySpec.Namespace.Shared(var with)) {
        Bundles.Others.state(context, with);
      }
    }
    boolean ownAddress = spec.network().mode() instanceof NetworkSpec.Mode.Bridge;
    if (!ownAddress && !spec.network().ports().isEmpty()) {
      throw new AgentException.InvalidSpec(
          "ports can only be published by a container on a bridge network");
    }
  }

  private Bundles.Network network(String name, NetworkSpec spec, Optional<Path> namespace)
      throws InterruptedException {
    String hostname = EtcFiles.checkHostname(spec.hostname().orElse(name));
    return switch (spec.mode()) {
      case NetworkSpec.Mode.Host _ -> plain(true, hostname);
      case NetworkSpec.Mode.None _ -> plain(false, hostname);
      case NetworkSpec.Mode.Bridge _ -> {
        // ports are published while it runs
        var attached = context.networks().attach(name, spec.withPorts(), namespace);
        yield new Bundles.Network(
            false,
            Optional.of(attached.netns()),
            hostname,
            attached.ip(),
            attached.gateway(),
            Optional.empty());
      }
      case NetworkSpec.Mode.Shared(var with) -> shared(Bundles.Others.networkOwner(context, with));
    };
  }

  /** The other's namespace, and with it its names: both see one host. */
  private Bundles.Network shared(ContainerState owner) {
    NetworkSpec network = owner.record().spec().network();
    return new Bundles.Network(
        network.mode() instanceof NetworkSpec.Mode.Host,
        context.networks().find(owner.name()).map(Attachment::netns),
        network.hostname().orElse(owner.name()),
        Optional.empty(),
        Optional.empty(),
        Optional.of(owner.directory()));
  }

  private static Bundles.Network plain(boolean host, String hostname) {
    return new Bundles.Network(
        host, Optional.empty(), hostname, Optional.empty(), Optional.empty(), Optional.empty());
  }
}
