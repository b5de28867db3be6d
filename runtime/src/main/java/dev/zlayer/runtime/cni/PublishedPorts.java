package dev.zlayer.runtime.cni;

import dev.zlayer.container.ContainerDetails.PortBinding;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.Rollback;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The ports of the host that attached containers publish. A container has them while it runs, so
 * that its successor can be made beside it; they are recorded before the rules are changed, and the
 * next agent writes the rules of what is recorded.
 */
public final class PublishedPorts {
  private final Map<String, PreparedNamespace> held;
  private final KeyedLock<String> names;
  private final HostPorts ports;
  private final PreparedNamespaceStore store;
  private final ContainerNetworks members;
  private final Rules rules;
  private final Consumer<String> steps;

  PublishedPorts(
      Map<String, PreparedNamespace> held,
      KeyedLock<String> names,
      HostPorts ports,
      PreparedNamespaceStore store,
      ContainerNetworks members,
      Rules rules,
      Consumer<String> steps) {
    this.held = held;
    this.names = names;
    this.ports = ports;
    this.store = store;
    this.members = members;
    this.rules = rules;
    this.steps = steps;
  }

  /**
   * Publishes ports of an attached container; those it has already stay as they are.
   *
   * @throws dev.zlayer.error.AgentException.Network another has one of them: its cause is a {@link
   *     PortTaken}
   */
  public void publish(String runtimeName, List<NetworkSpec.Port> wanted)
      throws InterruptedException {
    if (wanted.isEmpty()) {
      return;
    }
    try (var _ = names.lock(runtimeName);
        var rollback = new Rollback()) {
      PreparedNamespace slot = members.namespace(runtimeName);
      if (!slot.ports().isEmpty()) {
        return;
      }
      List<PortBinding> bindings =
          ports.reserve(
              runtimeName,
              wanted,
              () -> members.dualStack(runtimeName, slot.network().map(members::existing)));
      rollback.add("free ports", () -> ports.release(runtimeName));
      PreparedNamespace published = slot.withPorts(bindings);
      rollback.add("forget ports", () -> store.update(slot, runtimeName));
      store.update(published, runtimeName);
      steps.accept("ports recorded");
      if (!members.addresses(runtimeName, slot).isEmpty()) {
        members.publish(runtimeName, published);
        steps.accept("ports published");
      }
      held.put(runtimeName, published);
      rollback.commit();
    }
  }

  /** Frees the ports of a container, which stays attached; no effect if it has none. */
  public void release(String runtimeName) throws InterruptedException {
    try (var _ = names.lock(runtimeName)) {
      PreparedNamespace slot = held.get(runtimeName);
      if (slot == null || slot.ports().isEmpty()) {
        return;
      }
      rules.unpublish(slot.ports());
      steps.accept("ports unpublished");
      PreparedNamespace bare = slot.withPorts(List.of());
      store.update(bare, runtimeName);
      held.put(runtimeName, bare);
      ports.release(runtimeName);
    }
  }
}
