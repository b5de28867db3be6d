package dev.zlayer.runtime.composite;

import dev.zlayer.container.Claim;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Images;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Several runtimes as one; the first is the primary. {@link Selection} says which one makes a
 * container, a {@link DispatchRecord} remembers it, and the handle is that runtime's own, so that
 * there is nothing to forward and every optional power is there.
 *
 * <p>Since handles are not wrapped, a removal is not seen here. A record is dropped when somebody
 * looks and its runtime does not have the container (any more); a runtime that does not answer is
 * no reason to drop anything.
 */
public final class CompositeRuntime implements ContainerRuntime {
  private static final int CREATES_BETWEEN_SWEEPS = 64;

  /** The runtime whose containers have watchdogs. */
  private static final String WATCHED = "oci";

  private final List<ContainerRuntime> runtimes;
  private final DispatchTable table;
  private final ImageKnowledge knowledge;
  private final ImageCopy transfer;
  private final CompositeImages images;
  private final Reports reports;
  private final AtomicInteger creates = new AtomicInteger();

  private CompositeRuntime(
      List<ContainerRuntime> runtimes, DispatchRecords records, Reports reports) {
    this.runtimes = List.copyOf(runtimes);
    this.table = new DispatchTable(records);
    this.knowledge = new ImageKnowledge(this.runtimes);
    this.transfer = new ImageCopy(this.runtimes);
    this.reports = reports;
    this.images =
        ArchivingImages.possible(this.runtimes)
            ? new ArchivingImages(this.runtimes, knowledge, reports)
            : new CompositeImages(this.runtimes, knowledge, reports);
  }

  /** Keeps its records in files below {@code directory}, and logs trouble that fails nothing. */
  public static CompositeRuntime open(List<ContainerRuntime> runtimes, Path directory) {
    return open(runtimes, FileDispatchRecords.open(directory), Reports.LOGGED);
  }

  /** Takes in what the runtimes have and drops what they do not have any more; closes nothing. */
  public static CompositeRuntime open(
      List<ContainerRuntime> runtimes, DispatchRecords records, Reports reports) {
    long names = runtimes.stream().map(ContainerRuntime::name).distinct().count();
    if (runtimes.isEmpty() || names < runtimes.size()) {
      throw new AgentException.Configuration(
          "runtimes need different names, and there has to be one");
    }
    var composite = new CompositeRuntime(runtimes, records, reports);
    composite.sweep();
    return composite;
  }

  @Override
  public String name() {
    return "composite";
  }

  /** The runtimes in order; the first is the primary. */
  public List<ContainerRuntime> runtimes() {
    return runtimes;
  }

  /** What at least one of the runtimes serves and can do. */
  @Override
  public Capabilities capabilities() {
    Set<Platform> platforms = new LinkedHashSet<>();
    Set<Capabilities.ArtifactKind> artifacts = new LinkedHashSet<>();
    Set<Class<?>> powers = new LinkedHashSet<>();
    for (ContainerRuntime runtime : runtimes) {
      platforms.addAll(runtime.capabilities().platforms());
      artifacts.addAll(runtime.capabilities().artifacts());
      powers.addAll(runtime.capabilities().powers());
    }
    return new Capabilities(platforms, artifacts, powers);
  }

  @Override
  public Images images() {
    return images;
  }

  @Override
  public Container create(ContainerId id, ContainerSpec spec) throws InterruptedException {
    if (find(id).isPresent()) {
      throw new AgentException.Conflict(
          "container '" + id + "' exists already: remove it first or choose another identity");
    }
    if (creates.incrementAndGet() % CREATES_BETWEEN_SWEEPS == 0) {
      sweep();
    }
    ContainerRuntime chosen = RuntimeSelector.choose(runtimes, request(id, spec));
    if (spec.labels().containsKey(Claim.LABEL) && !chosen.name().equals(WATCHED)) {
      throw new AgentException.Unsupported(
          "container %s: only one of its kind may run in the cluster, which the runtime '%s' cannot ensure"
              .formatted(id, chosen.name()));
    }
    Sharing.check(
        id, spec, chosen.name(), other -> table.find(other).map(entry -> entry.record().runtime()));
    transfer.ensure(chosen, spec.image());
    DispatchTable.Entry entry = table.begin(DispatchRecord.of(id, chosen.name(), spec));
    try {
      Container container = chosen.create(id, spec);
      entry.settled();
      return container;
    } catch (RuntimeException | InterruptedException | Error e) {
      undo(entry, chosen, e);
      throw e;
    }
  }

  /** Which runtime would run this, without doing anything. */
  public ContainerRuntime select(ContainerId id, ContainerSpec spec) {
    return RuntimeSelector.choose(runtimes, request(id, spec));
  }

  private Selection.Request request(ContainerId id, ContainerSpec spec) {
    return new Selection.Request(
        id.service(),
        Optional.ofNullable(spec.labels().get(Selection.ISOLATION_LABEL)),
        spec.platform(),
        spec.image(),
        knowledge.of(spec.image()));
  }

  /** Drops the record of a create that failed, unless the runtime has the container after all. */
  private void undo(DispatchTable.Entry entry, ContainerRuntime chosen, Throwable failure) {
    entry.settled();
    try {
      if (chosen.find(entry.record().id()).isEmpty()) {
        table.forget(entry);
      }
    } catch (AgentException e) {
      failure.addSuppressed(e);
    }
  }

  @Override
  public Optional<Container> find(ContainerId id) {
    return table.find(id).flatMap(this::handle);
  }

  private Optional<Container> handle(DispatchTable.Entry entry) {
    DispatchRecord record = entry.record();
    Optional<ContainerRuntime> owner = named(record.runtime());
    if (owner.isEmpty()) {
      return Optional.of(new UnreachableContainer(record, disabled(record)));
    }
    boolean pending = entry.pending();
    try {
      Optional<Container> found = owner.get().find(record.id());
      if (found.isEmpty() && !pending) {
        table.forget(entry);
      }
      return found;
    } catch (AgentException.Network | AgentException.Timeout e) {
      return Optional.of(new UnreachableContainer(record, e));
    }
  }

  private static AgentException disabled(DispatchRecord record) {
    return new AgentException.Configuration(
        "container '%s' belongs to the runtime '%s', which is not enabled on this node: enable it again"
            .formatted(record.id(), record.runtime()));
  }

  private Optional<ContainerRuntime> named(String name) {
    return runtimes.stream().filter(runtime -> runtime.name().equals(name)).findFirst();
  }

  /** Whoever lists also tidies. */
  private void sweep() {
    List<Container> _ = list();
  }

  @Override
  public List<Container> list() {
    List<DispatchTable.Entry> before = table.settled();
    var listed = new ArrayList<Container>();
    var answered = new LinkedHashSet<String>();
    for (ContainerRuntime runtime : runtimes) {
      try {
        runtime.list().stream().filter(found -> owns(runtime, found)).forEach(listed::add);
        answered.add(runtime.name());
      } catch (AgentException e) {
        reports.trouble(runtime.name(), "listing containers", e);
      }
    }
    Set<ContainerId> present = new LinkedHashSet<>(listed.stream().map(Container::id).toList());
    for (DispatchTable.Entry entry : before) {
      if (!present.contains(entry.record().id())) {
        if (answered.contains(entry.record().runtime())) {
          table.forget(entry);
        } else {
          handle(entry).ifPresent(listed::add);
        }
      }
    }
    return List.copyOf(listed);
  }

  /** One that nobody recorded is taken in; one that another runtime was given is not this one's. */
  private boolean owns(ContainerRuntime runtime, Container found) {
    if (table.find(found.id()).isEmpty()) {
      table.adopt(DispatchRecord.of(found.id(), runtime.name(), found.spec()));
    }
    return table
        .find(found.id())
        .filter(entry -> entry.record().runtime().equals(runtime.name()))
        .isPresent();
  }
}
