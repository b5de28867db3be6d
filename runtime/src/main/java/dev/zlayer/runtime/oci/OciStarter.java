package dev.zlayer.runtime.oci;

import dev.zlayer.container.Claim;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.process.ClaimDirectory;
import dev.zlayer.port.LogReader;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.MemoryLogs;
import dev.zlayer.runtime.lifecycle.Starter;
import dev.zlayer.runtime.oci.gpu.GpuUse;
import dev.zlayer.runtime.oci.tool.Conmon;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Runs the process of a container that is made, for the first time or again. */
final class OciStarter extends Starter {
  private final OciContext context;
  private final Bundles bundles;
  private final Remover dismantling;
  private final ExitWatcher ending;

  OciStarter(OciContext context) {
    super(context.clock());
    this.context = context;
    this.bundles = new Bundles(context);
    this.dismantling = new Remover(context);
    this.ending = new ExitWatcher(context);
  }

  /**
   * Makes the process and lets it wait; the caller holds the container's lock. What is recorded is
   * a start: should the agent die, its successor finds that nothing ran and takes the process away.
   */
  void prepare(ContainerState state) throws InterruptedException {
    if (state.view().now().prepared()) {
      return;
    }
    if (state.record().run() > 0) {
      throw new AgentException.Conflict(
          "container %s has been started before".formatted(state.record().id()));
    }
    begin(
        state,
        made -> {
          context.mounted().note(state.name(), state.record().spec().fileSystem().mounts());
          make(made, false);
        });
    state.view().update(view -> view.prepared(true));
    ending.watchPrepared(state);
    context.faults().reached("prepare.done");
  }

  /** Starts it, by one write where its process waits; the caller holds the container's lock. */
  void startPrepared(ContainerState state) throws InterruptedException {
    boolean waits =
        state.view().now().prepared()
            && state.record().processes().filter(found -> found.first().alive()).isPresent();
    if (!waits) {
      start(state);
      return;
    }
    attempt(
        state,
        made -> {
          publish(made);
          release(made);
        },
        ContainerRecord::notStarted);
  }

  @Override
  protected void run(ContainerState state) throws ToolFailed, IOException, InterruptedException {
    make(state, true);
    release(state);
  }

  private void make(ContainerState state, boolean published)
      throws ToolFailed, IOException, InterruptedException {
    context.attaching().soon();
    context.faults().reached("start.recorded");
    bringBack(state, published);
    context.faults().reached("start.prepared");
    ContainerSpec spec = state.record().spec();
    Conmon.Monitored monitored =
        context
            .conmon()
            .create(
                new Conmon.Watch(
                    state.name(),
                    state.directory().bundle(),
                    state.directory(),
                    state.logs(),
                    spec.process().terminal(),
                    spec.process().stdin()));
    context.firsts().watch(state.name(), monitored.process());
    context.faults().reached("start.monitored");
    state.save(
        record ->
            record.withProcesses(
                new ContainerRecord.Processes(monitored.monitor(), monitored.process())));
    context.faults().reached("start.created");
  }

  private void release(ContainerState state) throws ToolFailed, IOException, InterruptedException {
    ProcessIdentity first = state.record().processes().orElseThrow().first();
    watch(state, first);
    // taken before, since a short process has ended by the time the runtime returns
    Instant started = context.clock().instant();
    if (state.record().spec().gpu().isPresent()) {
      context.runtime().start(state.name()); // only the runtime runs the hooks that came with a GPU
    } else {
      context
          .runtime()
          .start(state.name(), first, () -> context.faults().reached("start.released"));
    }
    context.faults().reached("start.started");
    state.save(record -> record.running(started));
    ending.watch(state);
    context.faults().reached("start.done");
  }

  /** What needs a claim is watched before it is released, so that it never runs unwatched. */
  private void watch(ContainerState state, ProcessIdentity first) throws InterruptedException {
    String claim = state.record().spec().labels().get(Claim.LABEL);
    if (claim != null) {
      new ClaimDirectory(context.dirs().claims())
          .watch(claim, state.name(), first, state.directory().watchdogNote());
      context.faults().reached("start.watched");
    }
  }

  /** Brings back what a restart of the machine took, and clears what the last run left. */
  private void bringBack(ContainerState state, boolean published)
      throws ToolFailed, IOException, InterruptedException {
    context.runtime().delete(state.name());
    Files.createDirectories(state.directory().run());
    Optional<UserMounts> users = UserMounts.of(context, state);
    try (var namespace = new OwnNamespaces(context).renew(state, users, detached(state))) {
      attach(state, namespace.network());
    }
    if (published) {
      publish(state);
    }
    Path root = root(state, users);
    MemoryLogs.mount(state);
    state.logs().prepare();
    for (Path leftover : state.directory().leftByRun(state.name())) {
      Files.deleteIfExists(leftover);
    }
    Bundles.link(state);
    bundles.prepareRoot(state, root);
    bundles.join(state);
    ContainerRecord record = state.record();
    if (record.spec().gpu().isPresent()) {
      List<Path> sources =
          bundles.config(state).at("mounts").items().stream()
              .flatMap(mount -> mount.at("source").string().stream())
              .map(Path::of)
              .toList();
      context
          .gpus()
          .beforeStart(new GpuUse(record.id(), record.spec().gpu().get(), record.gpus()), sources);
    }
  }

  private void publish(ContainerState state) throws InterruptedException {
    context.networks().published().publish(state.name(), state.record().spec().network().ports());
    context.faults().reached("start.published");
  }

  /** A namespace does not survive the machine; its successor has another place and address. */
  private void attach(ContainerState state, Optional<Path> namespace)
      throws IOException, InterruptedException {
    if (detached(state)) {
      NetworkSpec network = state.record().spec().network();
      bundles.reattach(
          state, context.networks().attach(state.name(), network.withPorts(), namespace));
    }
  }

  private boolean detached(ContainerState state) {
    return state.record().spec().network().mode() instanceof NetworkSpec.Mode.Bridge
        && context.networks().find(state.name()).isEmpty();
  }

  private Path root(ContainerState state, Optional<UserMounts> users)
      throws IOException, InterruptedException {
    context.volumes().mountSubpaths(state.directory(), state.record().spec().fileSystem().mounts());
    if (users.isPresent()) {
      users.get().mount(true);
      return users.get().root();
    }
    Path root = context.roots().mount(state.name());
    SharedMemory.mount(state);
    return root;
  }

  @Override
  protected void takeProcesses(ContainerState state)
      throws ToolFailed, IOException, InterruptedException {
    dismantling.takeProcesses(state);
    context.networks().published().release(state.name());
  }

  @Override
  protected LogReader logs(ContainerState state, LogQuery query) {
    return Logs.open(context, state, query);
  }
}
