package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.ExposedPort;
import dev.zlayer.spec.value.ExtraHost;
import dev.zlayer.spec.value.NetworkMode;
import java.net.InetAddress;
import java.util.List;
import java.util.Optional;

/** How a service is reached and what it can reach. */
public record NetworkingSpec(
    @Doc("Ports of the service that the agent's proxy serves.") List<EndpointSpec> endpoints,
    @Doc("Host ports published to one container.") List<PortMapping> portMappings,
    @Doc("Network of the containers.") @Default("default") NetworkMode networkMode,
    @Doc("Deprecated; use network_mode: host.") @Default("false") boolean hostNetwork,
    @Doc("Host name inside the container (default: the container's id).")
        @Text(
            pattern = "[A-Za-z0-9]([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?",
            write = "a host name of letters, digits, dots and hyphens")
        Optional<String> hostname,
    @Doc("DNS servers.") List<InetAddress> dns,
    @Doc("Lines added to /etc/hosts, as host:ip; host-gateway is this host.")
        List<ExtraHost> extraHosts,
    @Doc("Ports the image listens on; documentation only.") List<ExposedPort> expose,
    @Doc("Networks over several nodes.") Optional<ClusterNetworkSpec> network,
    @Doc("Which network over several nodes to join.") Optional<OverlaySpec> overlay,
    @Doc("Whether internal endpoints are also served on 127.0.0.1 of this host.") @Default("auto")
        Reachability localhostReachability) {
  /** The older {@code host_network} switch folded in. */
  public NetworkMode effectiveMode() {
    return hostNetwork && networkMode instanceof NetworkMode.Standard
        ? new NetworkMode.Host()
        : networkMode;
  }

  /** When to serve internal endpoints on loopback; auto means for services of one replica. */
  public enum Reachability {
    AUTO,
    ALWAYS,
    NEVER
  }
}
