package dev.zlayer.runtime.oci.config;

import dev.zlayer.container.NetworkSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.runtime.cni.NamedNetwork;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The texts of /etc/hosts, /etc/resolv.conf and /etc/hostname of one container. */
public final class EtcFiles {
  private static final String HOST_GATEWAY = "host-gateway";

  /** A name server of a network may be away for as long as an agent takes to restart. */
  private static final String RESOLVER_OPTIONS = "options timeout:2 attempts:5";

  /** So that {@code 1.reader.web} is asked for below the domain of the deployment first. */
  private static final String REPLICAS = "options ndots:3";

  private EtcFiles() {}

  public static String hostname(String hostname) {
    return hostname + "\n";
  }

  /**
   * Checks a name for a host: labels of letters, digits and hyphens, 63 characters in all, which is
   * what the kernel takes.
   */
  public static String checkHostname(String hostname) {
    if (!hostname.matches("[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?")) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a host name: use up to 63 letters, digits, dots and hyphens"
              .formatted(hostname));
    }
    return hostname;
  }

  public static String hosts(
      NetworkSpec network,
      String hostname,
      Optional<InetAddress> ip,
      Optional<InetAddress> gateway) {
    var lines =
        new ArrayList<>(
            List.of(
                "127.0.0.1\tlocalhost",
                "::1\tlocalhost ip6-localhost ip6-loopback",
                "fe00::\tip6-localnet",
                "ff00::\tip6-mcastprefix",
                "ff02::1\tip6-allnodes",
                "ff02::2\tip6-allrouters"));
    new TreeMap<>(network.hosts())
        .forEach((name, address) -> lines.add(address(name, address, gateway) + "\t" + name));
    lines.add(ip.map(InetAddress::getHostAddress).orElse("127.0.1.1") + "\t" + hostname);
    return String.join("\n", lines) + "\n";
  }

  private static String address(String name, String address, Optional<InetAddress> gateway) {
    // others than the container's own may have names that no kernel takes
    if (!name.matches("[A-Za-z0-9_]([A-Za-z0-9._-]{0,251}[A-Za-z0-9_])?")) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a host name: use letters, digits, dots, hyphens and underscores"
              .formatted(name));
    }
    if (address.equals(HOST_GATEWAY)) {
      return gateway
          .map(InetAddress::getHostAddress)
          .orElseThrow(
              () ->
                  new AgentException.InvalidSpec(
                      "host '%s': without a bridge network there is no host-gateway"
                          .formatted(name)));
    }
    if (!address.matches("[0-9a-fA-F:.]+")) {
      throw new AgentException.InvalidSpec(
          "host '%s': '%s' is not an address".formatted(name, address));
    }
    return address;
  }

  /** Whether a container in another network namespace can reach a name server of this list. */
  public static boolean reachable(String hostResolvConf) {
    return hostResolvConf
        .lines()
        .map(String::strip)
        .anyMatch(line -> line.startsWith("nameserver") && !loopback(line));
  }

  /**
   * Name servers as asked for, else the host's own, except those that listen on the host's loopback
   * and cannot be reached from another network namespace.
   *
   * @param own our server on the network of the container: it knows the others on a network that
   *     people named, and asks for us where the host's servers cannot be reached
   */
  public static String resolvConf(
      NetworkSpec network, String hostResolvConf, Optional<InetAddress> own) {
    boolean hostNetwork = network.mode() instanceof NetworkSpec.Mode.Host;
    var lines = new ArrayList<String>();
    List<String> host = hostResolvConf.lines().map(String::strip).toList();
    boolean ours =
        own.isPresent()
            && network.dns().isEmpty()
            && network.mode() instanceof NetworkSpec.Mode.Bridge(var name)
            && (name.filter(text -> !text.equals(NamedNetwork.DEFAULT)).isPresent()
                || !reachable(hostResolvConf));
    if (ours) {
      lines.add("nameserver " + own.get().getHostAddress());
    } else if (network.dns().isEmpty()) {
      host.stream()
          .filter(line -> line.startsWith("nameserver"))
          .filter(line -> hostNetwork || !loopback(line))
          .forEach(lines::add);
    }
    network.dns().forEach(server -> lines.add("nameserver " + server.getHostAddress()));
    if (!network.dnsSearch().isEmpty()) {
      lines.add("search " + String.join(" ", network.dnsSearch()));
    } else {
      host.stream()
          .filter(line -> line.startsWith("search") || line.startsWith("domain"))
          .forEach(lines::add);
    }
    if (ours || !network.dns().isEmpty()) {
      lines.add(RESOLVER_OPTIONS);
    }
    host.stream().filter(line -> line.startsWith("options")).forEach(lines::add);
    if (network.dnsSearch().stream().anyMatch(name -> name.endsWith(DeploymentNames.DOMAIN))) {
      lines.add(REPLICAS);
    }
    return lines.isEmpty() ? "" : String.join("\n", lines) + "\n";
  }

  private static boolean loopback(String line) {
    String server = line.substring("nameserver".length()).strip();
    return server.startsWith("127.") || server.equals("::1");
  }

  /** The names of the three files inside. */
  public static Map<String, String> texts(
      NetworkSpec network,
      String hostname,
      Optional<InetAddress> ip,
      Optional<InetAddress> gateway,
      String hostResolvConf,
      boolean nameServer) {
    return Map.of(
        "/etc/hostname",
        hostname(hostname),
        "/etc/hosts",
        hosts(network, hostname, ip, gateway),
        "/etc/resolv.conf",
        resolvConf(network, hostResolvConf, gateway.filter(_ -> nameServer)));
  }
}
