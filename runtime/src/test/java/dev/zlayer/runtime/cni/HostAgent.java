package dev.zlayer.runtime.cni;

import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.NetworkSpec.Port;
import dev.zlayer.container.NetworkSpec.Protocol;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * An agent in a network namespace that plays the host: {@code RUN STATE PREFIX RANGE}. It attaches
 * one container with port 80 published as 8080 and on loopback as 8081, prints its namespace and
 * address, and for every line it reads prints what the firewall of the host does to containers, to
 * those with IPv6 too after the line "ipv6".
 */
final class HostAgent {
  private HostAgent() {}

  public static void main(String[] arguments) throws Exception {
    NetworkConfig config =
        NetworkConfig.of(Path.of(arguments[0]), Path.of(arguments[1]))
            .withPrefix(arguments[2], Subnet.parse(arguments[3]))
            .withPoolSize(0);
    var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (Networks networks = Networks.open(config)) {
      Attachment web =
          networks.attach(
              "web",
              NetworkSpec.DEFAULT.withPorts(
                  new Port(OptionalInt.of(8080), 80, Protocol.TCP, Optional.empty()),
                  new Port(
                      OptionalInt.of(8081),
                      81,
                      Protocol.TCP,
                      Optional.of(InetAddress.ofLiteral("127.0.0.1")))));
      System.out.println(web.netns() + " " + web.ip().orElseThrow().getHostAddress());
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        System.out.println(
            line.equals("ipv6")
                ? new HostFirewall(config).problems(true)
                : networks.firewallProblems());
      }
      networks.detach("web");
    }
  }
}
