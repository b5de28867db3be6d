package dev.zlayer.proxy.ingress;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Rotation;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/**
 * Endpoints with a host or a path, which HAProxy serves on two ports for all deployments; all other
 * endpoints are left to the proxy in the kernel.
 */
public final class Ingress implements Rotation, AutoCloseable {
  private final Owner<IngressState> owner;
  private final Rotation kernel;

  private Ingress(Owner<IngressState> owner, Rotation kernel) {
    this.owner = owner;
    this.kernel = kernel;
  }

  /** Continues with what the agent before stored; HAProxy runs on meanwhile. */
  public static Ingress open(
      IngressConfig config, Rotation kernel, TimeSource time, Supervisor supervisor)
      throws InterruptedException {
    Owner<IngressState> owner =
        Owner.ofNative(
            "ingress",
            time,
            supervisor,
            (_, _) -> new IngressState(config, new Haproxy(config, Pauses.REAL)));
    return new Ingress(owner.start(), kernel);
  }

  /** Both are told; what one refuses does not keep the other from it. */
  @Override
  public void update(Members service) throws InterruptedException {
    Optional<AgentException> refused = Optional.empty();
    try {
      boolean _ = owner.ask(state -> state.update(service));
    } catch (AgentException e) {
      refused = Optional.of(e);
    }
    kernel.update(service);
    if (refused.isPresent()) {
      throw refused.get();
    }
  }

  @Override
  public void drain(ContainerId member, Deadline deadline) throws InterruptedException {
    kernel.drain(member, deadline);
  }

  @Override
  public void remove(ServiceKey service) throws InterruptedException {
    boolean _ = owner.ask(state -> state.remove(service));
    kernel.remove(service);
  }

  /** Removes the endpoints of services that are none of these: those of an agent that crashed. */
  public void retain(Collection<ServiceKey> known) {
    boolean _ = owner.ask(state -> state.retain(known));
  }

  /** What it serves. */
  public List<Route> routes() {
    return owner.ask(state -> state.endpoints().stream().map(Route::of).toList());
  }

  /**
   * An endpoint as it is served, for people.
   *
   * @param routes hosts with paths
   */
  public record Route(
      ServiceKey service, String endpoint, List<String> routes, List<Replica> replicas) {
    static Route of(IngressEndpoint endpoint) {
      return new Route(
          endpoint.service(),
          endpoint.name(),
          endpoint.routes(),
          endpoint.servers().stream()
              .map(
                  server ->
                      new Replica(
                          server.container(),
                          server.address().getHostAddress() + ":" + endpoint.port(),
                          server.ready()))
              .toList());
    }
  }

  /** A replica that requests are sent to when it is ready. */
  public record Replica(String container, String address, boolean ready) {}

  /** Leaves HAProxy running. */
  @Override
  public void close() {
    owner.close();
  }
}
