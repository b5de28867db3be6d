package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Inline;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.Transport;
import java.util.Optional;

/** A port of a service that the proxy serves. */
@Doc("A port of a service that the agent's proxy serves.")
public record EndpointSpec(
    @Doc("Name, unique in the service.") @Text(pattern = ".*\\S.*", write = "a name") String name,
    @Doc("Protocol.") Protocol protocol,
    @Doc("Port the proxy listens on; with host or path, the port in the container.")
        @Range(min = 1, max = 65_535)
        int port,
    @Doc("Port in the container (default: the same).") @Range(min = 1, max = 65_535)
        Optional<Integer> targetPort,
    @Doc("public is reachable from outside; internal only from this deployment and this host.")
        @Default("internal")
        Exposure expose,
    @Doc("Only replicas of this role (default: all).") Optional<String> targetRole,
    @Doc("Settings for tcp and udp.") Optional<StreamSpec> stream,
    @Doc("A tunnel to another node.") Optional<EndpointTunnel> tunnel,
    @Inline RouteSpec route) {
  /** An endpoint that the ingress does not serve. */
  public EndpointSpec(
      String name,
      Protocol protocol,
      int port,
      Optional<Integer> targetPort,
      Exposure expose,
      Optional<String> targetRole) {
    this(
        name,
        protocol,
        port,
        targetPort,
        expose,
        targetRole,
        Optional.empty(),
        Optional.empty(),
        RouteSpec.NONE);
  }

  public enum Protocol {
    HTTP,
    HTTPS,
    TCP,
    UDP,
    WEBSOCKET;

    public Transport transport() {
      return this == UDP ? Transport.UDP : Transport.TCP;
    }

    /** Whether requests can be told apart by host and path. */
    public boolean http() {
      return this == HTTP || this == HTTPS || this == WEBSOCKET;
    }
  }

  /** The port in the container. */
  public int containerPort() {
    return targetPort.orElse(port);
  }
}
