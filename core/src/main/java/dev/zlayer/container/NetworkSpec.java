package dev.zlayer.container;

import dev.zlayer.json.StoredName;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * How a container is connected.
 *
 * @param hosts extra lines for /etc/hosts: name to address; {@code host-gateway} stands for the
 *     host's address as seen from the container
 */
public record NetworkSpec(
    Mode mode,
    Optional<String> hostname,
    List<Port> ports,
    List<InetAddress> dns,
    List<String> dnsSearch,
    Map<String, String> hosts) {
  public static final NetworkSpec DEFAULT = of(new Mode.Bridge(Optional.empty()));
  public static final NetworkSpec NONE = of(new Mode.None());

  public NetworkSpec {
    ports = List.copyOf(ports);
    dns = List.copyOf(dns);
    dnsSearch = List.copyOf(dnsSearch);
    hosts = Map.copyOf(hosts);
  }

  public static NetworkSpec of(Mode mode) {
    return new NetworkSpec(mode, Optional.empty(), List.of(), List.of(), List.of(), Map.of());
  }

  public NetworkSpec withPorts(Port... ports) {
    return new NetworkSpec(mode, hostname, List.of(ports), dns, dnsSearch, hosts);
  }

  public NetworkSpec withHostname(String hostname) {
    return new NetworkSpec(mode, Optional.of(hostname), ports, dns, dnsSearch, hosts);
  }

  public NetworkSpec withHosts(Map<String, String> hosts) {
    return new NetworkSpec(mode, hostname, ports, dns, dnsSearch, hosts);
  }

  /** Which network namespace, and what is in it. */
  public sealed interface Mode {
    /** Its own namespace with an interface on the named bridge, or on the default one. */
    @StoredName("Bridge")
    record Bridge(Optional<String> network) implements Mode {}

    /** The host's namespace. */
    @StoredName("Host")
    record Host() implements Mode {}

    /** Its own namespace with loopback only. */
    @StoredName("None")
    record None() implements Mode {}

    /** The namespace of another container of this runtime. */
    @StoredName("Shared")
    record Shared(ContainerId with) implements Mode {}
  }

  public enum Protocol {
    TCP,
    UDP
  }

  /** A published port; without a host port a free one is chosen and reported back. */
  public record Port(
      OptionalInt hostPort, int containerPort, Protocol protocol, Optional<InetAddress> hostIp) {}
}
