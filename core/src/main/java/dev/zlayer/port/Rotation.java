package dev.zlayer.port;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.NetworkingSpec;
import dev.zlayer.task.Deadline;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Whoever leads traffic to replicas: the proxy and the name server. The engine tells the whole
 * truth about a service each time, so a message that comes twice, or after a restart of the agent
 * for the first time, does no harm.
 *
 * <p>All methods may be called from any thread; calls about one service come one after the other.
 * What cannot be done (a port is taken) is thrown by {@link #update}, shown in the status of the
 * service and tried again; it never stops a replica.
 */
public interface Rotation {
  /** Nobody is led anywhere. */
  Rotation NONE =
      new Rotation() {
        @Override
        public void update(Members service) {}

        @Override
        public void drain(ContainerId member, Deadline deadline) {}

        @Override
        public void remove(ServiceKey service) {}
      };

  /**
   * A service as it is now.
   *
   * @param endpoints the ports of the service; {@code targetRole} chooses among the members
   * @param loopback whether internal endpoints are asked for on 127.0.0.1 of the machine
   * @param members all replicas that run, ready or not, in the order of role and number
   */
  record Members(
      ServiceKey service,
      List<EndpointSpec> endpoints,
      NetworkingSpec.Reachability loopback,
      List<Member> members) {
    public Members {
      endpoints = List.copyOf(endpoints);
      members = List.copyOf(members);
    }
  }

  /**
   * One replica.
   *
   * @param id carries role and number
   * @param address where its ports are; 127.0.0.1 when it uses the machine's network
   * @param ipv6 the same over IPv6, when its network has two stacks
   * @param weight how many requests it gets in relation to others, from 1 to 256, where requests
   *     are routed; elsewhere all get the same
   * @param ready healthy and to be given new connections; one that is not keeps those it has
   */
  record Member(
      ContainerId id, InetAddress address, Optional<InetAddress> ipv6, boolean ready, int weight) {
    public Member(ContainerId id, InetAddress address, Optional<InetAddress> ipv6, boolean ready) {
      this(id, address, ipv6, ready, 1);
    }

    public Member(ContainerId id, InetAddress address, boolean ready) {
      this(id, address, Optional.empty(), ready);
    }

    /** Its addresses of both kinds. */
    public List<InetAddress> addresses() {
      return Stream.concat(Stream.of(address), ipv6.stream()).toList();
    }
  }

  /**
   * Replaces what was said about the service before; returns when new connections follow it.
   *
   * @throws dev.zlayer.error.AgentException.Configuration an endpoint cannot be served; the others
   *     are
   */
  void update(Members service) throws InterruptedException;

  /**
   * Blocks until no connection of a member that is not ready any more is open, or the deadline
   * passed; unknown members have none.
   */
  void drain(ContainerId member, Deadline deadline) throws InterruptedException;

  /**
   * The requests of a service so far, where they are counted; counts may begin again at zero. May
   * block.
   */
  default Optional<Requests> requests(ServiceKey service) throws InterruptedException {
    return Optional.empty();
  }

  /**
   * Calls once, on any thread, when a request for a service without a ready member waits or has
   * come; replaces what was said before. Never where requests are not counted.
   */
  default void onRequest(ServiceKey service, Runnable listener) {}

  /**
   * Requests of a service.
   *
   * @param total that came
   * @param open that are under way or wait
   * @param members by the name of their container ({@link ContainerId#runtimeName})
   */
  record Requests(long total, long open, Map<String, Served> members) {
    public Requests {
      members = Map.copyOf(members);
    }
  }

  /**
   * Requests that were sent to a member.
   *
   * @param errors responses with a status from 500 on, and connections that failed
   */
  record Served(long requests, long errors) {}

  /** The service was removed; its endpoints are closed. */
  void remove(ServiceKey service) throws InterruptedException;
}
