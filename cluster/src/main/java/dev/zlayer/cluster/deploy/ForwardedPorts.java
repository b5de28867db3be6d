package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.schedule.HostPort;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.Exposure;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.spec.network.PortMapping;
import dev.zlayer.spec.value.Transport;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * Host ports of {@code port_mappings}. On a node that runs a replica, the port is of that replica.
 * Other nodes forward it to the replicas there are, as an endpoint of a service that exists in the
 * tables of the proxy alone. Pure.
 */
public final class ForwardedPorts {
  /** Ends the name of that service; names in deployment files have no space. */
  private static final String MARK = " (host ports)";

  private ForwardedPorts() {}

  static ServiceKey key(ServiceKey service) {
    return new ServiceKey(service.deployment(), service.service() + MARK);
  }

  /** The ports that a replica of a service has on its node. */
  public static Set<HostPort> of(ServiceSpec service) {
    var ports = new HashSet<HostPort>();
    for (PortMapping mapping : service.networking().portMappings()) {
      if (mapping.hostPort() > 0) {
        ports.add(new HostPort(mapping.hostPort(), mapping.protocol()));
      }
    }
    return ports;
  }

  /**
   * What is left of members when some ports are used on this node.
   *
   * @param used by replicas that this node runs
   */
  public static Map<ServiceKey, Members> without(
      Map<ServiceKey, Members> members, Set<HostPort> used) {
    var left = new TreeMap<ServiceKey, Members>();
    members.forEach(
        (key, one) -> {
          if (!key.service().endsWith(MARK)) {
            left.put(key, one);
          } else if (one.endpoints().stream().noneMatch(port -> used.contains(port(port)))) {
            left.put(key, one);
          }
        });
    return left;
  }

  private static HostPort port(EndpointSpec endpoint) {
    return new HostPort(endpoint.port(), endpoint.protocol().transport());
  }

  /**
   * What one node forwards.
   *
   * @param problems ports that it does not forward, and why
   */
  record Forwarded(Map<ServiceKey, Members> members, List<String> problems) {}

  /**
   * Adds the ports of services that have replicas elsewhere and none here.
   *
   * @param members of other nodes by service
   * @param services of a deployment by its name, as desired
   */
  static Forwarded forwarded(
      ClusterState state,
      String node,
      Map<ServiceKey, Members> members,
      Function<String, Map<String, ServiceSpec>> services) {
    Map<HostPort, ServiceKey> taken = own(state, node, services);
    var all = new TreeMap<>(members);
    var problems = new ArrayList<String>();
    // in the order of their names, so that all nodes choose the same one
    new TreeMap<>(members)
        .forEach(
            (key, others) -> {
              ServiceSpec service = services.apply(key.deployment()).get(key.service());
              if (service == null
                  || others.members().isEmpty()
                  || taken.containsValue(key)
                  || service.networking().portMappings().isEmpty()) {
                return;
              }
              var endpoints = new ArrayList<EndpointSpec>();
              for (PortMapping mapping : service.networking().portMappings()) {
                var port = new HostPort(mapping.hostPort(), mapping.protocol());
                ServiceKey holder = taken.get(port);
                if (!shared(mapping)) {
                  continue;
                }
                if (holder == null) {
                  taken.put(port, key);
                  endpoints.add(endpoint(mapping));
                } else if (!holder.equals(key)) {
                  problems.add(
                      "host port %d of %s is not forwarded by this node: it is that of %s here"
                          .formatted(mapping.hostPort(), key, holder));
                }
              }
              if (!endpoints.isEmpty()) {
                all.put(
                    key(key),
                    new Members(key(key), endpoints, Reachability.ALWAYS, others.members()));
              }
            });
    return new Forwarded(all, problems);
  }

  /** Those of the replicas that are assigned to the node. */
  private static Map<HostPort, ServiceKey> own(
      ClusterState state, String node, Function<String, Map<String, ServiceSpec>> services) {
    var own = new HashMap<HostPort, ServiceKey>();
    state
        .assignments()
        .forEach(
            (place, assignment) -> {
              if (place.node().equals(node)) {
                services
                    .apply(place.deployment())
                    .forEach(
                        (name, service) -> {
                          if (assignment.count(name) > 0) {
                            var key = new ServiceKey(place.deployment(), name);
                            of(service).forEach(port -> own.put(port, key));
                          }
                        });
              }
            });
    return own;
  }

  /** An address of one node says nothing about others. */
  private static boolean shared(PortMapping mapping) {
    return mapping.hostPort() > 0
        && (mapping.hostIp().isAnyLocalAddress() || mapping.hostIp().isLoopbackAddress());
  }

  private static EndpointSpec endpoint(PortMapping mapping) {
    return new EndpointSpec(
        "host-port-%d".formatted(mapping.hostPort()),
        mapping.protocol() == Transport.UDP ? EndpointSpec.Protocol.UDP : EndpointSpec.Protocol.TCP,
        mapping.hostPort(),
        Optional.of(mapping.containerPort()),
        mapping.hostIp().isAnyLocalAddress() ? Exposure.PUBLIC : Exposure.INTERNAL,
        Optional.empty());
  }
}
