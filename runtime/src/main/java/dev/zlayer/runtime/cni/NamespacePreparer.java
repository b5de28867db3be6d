package dev.zlayer.runtime.cni;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.Links;
import dev.zlayer.host.linux.Namespaces;
import dev.zlayer.json.Json;
import dev.zlayer.task.Rollback;
import java.io.IOException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/** Makes slots: a namespace, and its interface when it is on a network. */
final class NamespacePreparer {
  private final NetworkConfig config;
  private final Namespaces namespaces;
  private final Cni cni;
  private final DirectBridge direct;
  private final PreparedNamespaceStore store;
  private final Rules rules;
  private final ReleaseLoop releases;
  private final Consumer<String> steps;
  private final SecureRandom random = new SecureRandom();

  NamespacePreparer(
      NetworkConfig config,
      Namespaces namespaces,
      Cni cni,
      Addresses addresses,
      PreparedNamespaceStore store,
      Rules rules,
      ReleaseLoop releases,
      Consumer<String> steps) {
    this.config = config;
    this.namespaces = namespaces;
    this.cni = cni;
    this.direct = new DirectBridge(config, namespaces, addresses);
    this.store = store;
    this.rules = rules;
    this.releases = releases;
    this.steps = steps;
  }

  /**
   * A slot in phase ready; when it fails, what was half made is taken down in the background.
   *
   * @param from a new namespace to use; one is made when absent
   */
  PreparedNamespace make(Optional<NamedNetwork> network, Optional<Path> from)
      throws InterruptedException {
    return make(network, from, 1).getFirst();
  }

  /** Several on a network; their addresses are written into the rules together. */
  List<PreparedNamespace> make(NamedNetwork network, int count) throws InterruptedException {
    return make(Optional.of(network), Optional.empty(), count);
  }

  private List<PreparedNamespace> make(
      Optional<NamedNetwork> network, Optional<Path> from, int count) throws InterruptedException {
    var made = new ArrayList<PreparedNamespace>();
    var stations = new HashMap<String, Station>();
    var ready = new HashSet<String>();
    var known = new HashMap<String, PreparedNamespace>(); // with their addresses
    try (var rollback = new Rollback()) {
      while (made.size() < count) {
        PreparedNamespace slot = plan(network);
        store.begin(slot);
        rollback.add(
            "take down " + slot.id(),
            () -> leave(phase(slot, ready), known.getOrDefault(slot.id(), slot)));
        steps.accept("slot recorded");
        PreparedNamespace connected = slot.withResult(connect(slot, network, from));
        made.add(connected);
        known.put(slot.id(), connected);
        connected
            .hostLink()
            .ifPresent(link -> connected.station().ifPresent(own -> stations.put(link, own)));
      }
      if (!stations.isEmpty()) {
        rules.bind(stations);
        steps.accept("address bound");
      }
      for (PreparedNamespace slot : made) {
        store.ready(slot);
        ready.add(slot.id());
        steps.accept("slot ready");
      }
      rollback.commit();
      return made;
    }
  }

  private static PreparedNamespaceStore.Phase phase(PreparedNamespace slot, Set<String> ready) {
    return ready.contains(slot.id())
        ? PreparedNamespaceStore.Phase.READY
        : PreparedNamespaceStore.Phase.MAKING;
  }

  /** Gives a slot up that nobody holds. */
  void leave(PreparedNamespaceStore.Phase phase, PreparedNamespace slot) {
    store.leave(phase, slot.id(), slot);
    releases.add(slot);
  }

  private PreparedNamespace plan(Optional<NamedNetwork> network) {
    var bytes = new byte[8];
    random.nextBytes(bytes);
    String id = config.prefix() + "-" + HexFormat.of().formatHex(bytes);
    return new PreparedNamespace(
        id,
        network.map(NamedNetwork::name),
        config.namespaces().resolve(id),
        network
            .map(present -> present.chain(config.addresses(), config.firewall()))
            .orElse(List.of()),
        Json.Null.INSTANCE,
        List.of());
  }

  private Json connect(PreparedNamespace slot, Optional<NamedNetwork> network, Optional<Path> from)
      throws InterruptedException {
    try {
      namespaces.create(slot.netns(), from);
      steps.accept("namespace made");
      Optional<Json> connected =
          network.isPresent() ? direct.connect(slot, network.get()) : Optional.empty();
      Json result = connected.isPresent() ? connected.get() : cni.add(slot.target(), slot.chain());
      steps.accept("plugins added");
      if (network.isPresent()) {
        Links.routeLoopback(network.get().bridge());
        Links.refuseRouters(network.get().bridge());
      }
      return result;
    } catch (ErrnoException e) {
      if (e.errno() == ErrnoException.EPERM) {
        throw new AgentException.Configuration(
            "network namespaces need root: run the agent as root", e);
      }
      throw failed(slot, e);
    } catch (IOException e) {
      throw failed(slot, e);
    }
  }

  private static AgentException failed(PreparedNamespace slot, IOException cause) {
    return new AgentException.Network(
        "cannot make network namespace %s: %s".formatted(slot.netns(), cause.getMessage()), cause);
  }
}
