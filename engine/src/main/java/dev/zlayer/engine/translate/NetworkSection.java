package dev.zlayer.engine.translate;

import dev.zlayer.container.NetworkSpec;
import dev.zlayer.spec.network.NetworkingSpec;
import dev.zlayer.spec.network.PortMapping;
import dev.zlayer.spec.value.NetworkMode;
import dev.zlayer.spec.value.Transport;
import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** How the container is connected. Exposed ports are documentation and need nothing. */
final class NetworkSection {
  private NetworkSection() {}

  static NetworkSpec of(NetworkingSpec networking, SharedNamespaces shared) {
    Map<String, String> hosts = new LinkedHashMap<>();
    networking
        .extraHosts()
        .forEach(
            host ->
                hosts.put(
                    host.host(),
                    host.address().map(InetAddress::getHostAddress).orElse("host-gateway")));
    return new NetworkSpec(
        mode(networking.effectiveMode(), shared),
        networking.hostname(),
        networking.portMappings().stream().map(NetworkSection::port).toList(),
        networking.dns(),
        List.of(),
        hosts);
  }

  private static NetworkSpec.Mode mode(NetworkMode mode, SharedNamespaces shared) {
    return switch (mode) {
      case NetworkMode.Standard() -> new NetworkSpec.Mode.Bridge(Optional.empty());
      case NetworkMode.Bridge(Optional<String> name) -> new NetworkSpec.Mode.Bridge(name);
      case NetworkMode.Host() -> new NetworkSpec.Mode.Host();
      case NetworkMode.None() -> new NetworkSpec.Mode.None();
      case NetworkMode.OfContainer(String id) -> new NetworkSpec.Mode.Shared(shared.container(id));
    };
  }

  /** Every address is what "all addresses" means without being said. */
  private static NetworkSpec.Port port(PortMapping mapping) {
    return new NetworkSpec.Port(
        mapping.hostPort() == 0 ? OptionalInt.empty() : OptionalInt.of(mapping.hostPort()),
        mapping.containerPort(),
        mapping.protocol() == Transport.UDP ? NetworkSpec.Protocol.UDP : NetworkSpec.Protocol.TCP,
        Optional.of(mapping.hostIp()).filter(address -> !address.isAnyLocalAddress()));
  }
}
