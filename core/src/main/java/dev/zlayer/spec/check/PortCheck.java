package dev.zlayer.spec.check;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.Exposure;
import dev.zlayer.spec.network.PortMapping;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.value.Transport;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;

/** No two things listen at the same place of the machine. */
final class PortCheck {
  /** Something that listens on the machine. */
  private record Listener(SpecPath path, int port, Transport transport, InetAddress address) {
    boolean collides(Listener other) {
      return port == other.port
          && transport == other.transport
          && (address.equals(other.address)
              || address.isAnyLocalAddress()
              || other.address.isAnyLocalAddress());
    }
  }

  private static final InetAddress EVERYWHERE = InetAddress.ofLiteral("0.0.0.0");

  private PortCheck() {}

  static void check(DeploymentSpec deployment, Findings findings) {
    var listeners = new ArrayList<Listener>();
    deployment
        .services()
        .forEach(
            (name, service) -> {
              SpecPath path = Checks.service(name);
              checkReplicas(service, path, findings);
              addEndpoints(service.networking().endpoints(), path, findings, listeners);
              addMappings(service.networking().portMappings(), path, findings, listeners);
            });
    for (int i = 0; i < listeners.size(); i++) {
      Listener later = listeners.get(i);
      listeners.subList(0, i).stream()
          .filter(later::collides)
          .findFirst()
          .ifPresent(first -> report(later, first, findings));
    }
  }

  private static void report(Listener later, Listener first, Findings findings) {
    findings.problem(
        later.path(),
        "%s already uses port %d, write another".formatted(first.path(), later.port()));
  }

  private static void addEndpoints(
      List<EndpointSpec> endpoints, SpecPath path, Findings findings, List<Listener> listeners) {
    for (int i = 0; i < endpoints.size(); i++) {
      SpecPath here = path.key("endpoints").index(i);
      EndpointSpec endpoint = endpoints.get(i);
      boolean listens = endpoint.expose() == Exposure.PUBLIC && !endpoint.route().routed();
      if (listens && findings.clean(here)) {
        Transport transport = endpoint.protocol().transport();
        listeners.add(new Listener(here.key("port"), endpoint.port(), transport, EVERYWHERE));
      }
    }
  }

  private static void addMappings(
      List<PortMapping> mappings, SpecPath path, Findings findings, List<Listener> listeners) {
    for (int i = 0; i < mappings.size(); i++) {
      SpecPath here = path.key("port_mappings").index(i);
      PortMapping mapping = mappings.get(i);
      if (mapping.hostPort() != 0 && findings.clean(here)) {
        listeners.add(
            new Listener(
                here.key("host_port"), mapping.hostPort(), mapping.protocol(), mapping.hostIp()));
      }
    }
  }

  /** A fixed port of the machine can belong to one replica only. */
  private static void checkReplicas(ServiceSpec service, SpecPath path, Findings findings) {
    boolean several =
        service.rtype() == RunType.SERVICE && service.lifecycle().initialReplicas() > 1;
    List<PortMapping> mappings = service.networking().portMappings();
    for (int i = 0; several && i < mappings.size(); i++) {
      if (mappings.get(i).hostPort() != 0) {
        findings.problem(
            path.key("port_mappings").index(i).key("host_port"),
            "several replicas cannot share one port, write 0 or use an endpoint");
      }
    }
  }
}
