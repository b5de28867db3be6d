package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.Transport;
import java.util.Optional;

/** A port of a service that the proxy serves. */
@Doc("A port of a service that the agent's proxy serves.")
public record EndpointSpec(
    @Doc("Name, unique in the service.") @Text(pattern = ".*\\S.*", write = "a name") String name,
    @Doc("Protocol.") Protocol protocol,
    @Doc("Port the proxy listens on.") @Range(min = 1, max = 65_535) int port,
    @Doc("Port in the container (default: the same).") @Range(min = 1, max = 65_535)
        Optional<Integer> targetPort,
    @Doc("Only requests whose path begins with this.")
        @Text(pattern = "/.*", write = "a path that begins with /")
        Optional<String> path,
    @Doc("Only requests for this host; *.example.org matches every name below.")
        @Text(pattern = "(\\*\\.)?[A-Za-z0-9.-]+|\\*", write = "a host name or *.example.org")
        Optional<String> host,
    @Doc("public is reachable from outside; internal only from this deployment and this host.")
        @Default("internal")
        Exposure expose,
    @Doc("Only replicas of this role (default: all).") Optional<String> targetRole,
    @Doc("Settings for tcp and udp.") Optional<StreamSpec> stream,
    @Doc("A tunnel to another node.") Optional<EndpointTunnel> tunnel) {
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
