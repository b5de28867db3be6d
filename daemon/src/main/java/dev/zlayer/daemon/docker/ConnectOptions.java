package dev.zlayer.daemon.docker;

import dev.zlayer.container.ConnectionSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.json.Json;
import dev.zlayer.port.ImageDetails;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.UnaryOperator;

/** How a request wants to be connected. */
final class ConnectOptions {
  private static final String OF_CONTAINER = "container:";
  private static final String USUAL = "default";

  private static final int LARGEST_PORT = 65_535;

  private final Json.Obj body;
  private final Json host;

  ConnectOptions(Json.Obj body) {
    this.body = body;
    this.host = body.at("HostConfig");
  }

  /** As a request names it: {@code default} when it names none. */
  static String mode(Json.Obj body) {
    if (body.at("NetworkDisabled").bool().orElse(false)) {
      return "none";
    }
    String mode =
        body.at("HostConfig")
            .at("NetworkMode")
            .string()
            .filter(text -> !text.isEmpty())
            .orElse(USUAL);
    // a client that names networks only there wants to be on those alone
    return mode.equals(USUAL) ? settings(body).keySet().stream().findFirst().orElse(USUAL) : mode;
  }

  /** The networks that a request names, each with how to be on it. */
  static Map<String, ConnectionSpec> endpoints(Json.Obj body) {
    var endpoints = new LinkedHashMap<String, ConnectionSpec>();
    settings(body)
        .forEach(
            (network, settings) ->
                endpoints.put(
                    network,
                    EndpointOptions.of(
                        settings, "NetworkingConfig.EndpointsConfig.%s.".formatted(network))));
    return endpoints;
  }

  private static Map<String, Json> settings(Json.Obj body) {
    return body.at("NetworkingConfig").at("EndpointsConfig").members();
  }

  /**
   * Translates.
   *
   * @param network turns a name or an id of a network into its name
   */
  NetworkSpec of(
      String hostname,
      Optional<ImageDetails> image,
      DockerContainerIndex index,
      UnaryOperator<String> network) {
    NetworkSpec.Mode mode =
        switch (mode(body)) {
          case USUAL, "bridge" -> new NetworkSpec.Mode.Bridge(Optional.empty());
          case "host" -> new NetworkSpec.Mode.Host();
          case "none" -> new NetworkSpec.Mode.None();
          case String text when text.startsWith(OF_CONTAINER) ->
              new NetworkSpec.Mode.Shared(index.enter(text.substring(OF_CONTAINER.length())).id());
          case String text -> new NetworkSpec.Mode.Bridge(Optional.of(network.apply(text)));
        };
    boolean bridge = mode instanceof NetworkSpec.Mode.Bridge;
    if (!bridge && EndpointOptions.mac(body).isPresent()) {
      throw DockerError.badRequest("conflicting options: mac-address and the network mode");
    }
    if (!bridge && !ContainerLinks.asked(body).isEmpty()) {
      throw DockerError.badRequest(
          "conflicting options: links and the network mode; use a network and its names");
    }
    List<NetworkSpec.Port> ports = ports(image);
    boolean published = mode instanceof NetworkSpec.Mode.Bridge;
    if (mode instanceof NetworkSpec.Mode.Shared && !ports.isEmpty()) {
      throw DockerError.badRequest(
          "conflicting options: port publishing and the container type network mode");
    }
    boolean ownName =
        !(mode instanceof NetworkSpec.Mode.Host) && !(mode instanceof NetworkSpec.Mode.Shared);
    Optional<String> given = body.at("Hostname").string().filter(name -> !name.isEmpty());
    return new NetworkSpec(
        mode,
        ownName ? Optional.of(given.orElse(hostname)) : Optional.empty(),
        published ? ports : List.of(),
        host.at("Dns").strings().stream().map(ConnectOptions::address).toList(),
        host.at("DnsSearch").strings(),
        hosts());
  }

  private Map<String, String> hosts() {
    var hosts = new LinkedHashMap<String, String>();
    for (String line : host.at("ExtraHosts").strings()) {
      int at = line.indexOf(line.contains("=") ? '=' : ':');
      if (at < 1) {
        throw DockerError.badRequest("bad format for add-host: \"%s\"".formatted(line));
      }
      String address = line.substring(at + 1).replaceAll("^\\[|]$", "");
      hosts.put(line.substring(0, at), address);
    }
    return hosts;
  }

  static InetAddress address(String text) {
    try {
      return InetAddress.ofLiteral(text);
    } catch (IllegalArgumentException _) {
      throw DockerError.badRequest("'%s' is not an address".formatted(text));
    }
  }

  private List<NetworkSpec.Port> ports(Optional<ImageDetails> image) {
    var ports = new ArrayList<NetworkSpec.Port>();
    host.at("PortBindings")
        .members()
        .forEach(
            (inside, bindings) -> {
              List<Json> all = bindings.items();
              if (all.isEmpty()) {
                ports.add(port(inside, OptionalInt.empty(), Optional.empty()));
              }
              for (Json binding : all) {
                String ip = binding.at("HostIp").string().orElse("");
                String port = binding.at("HostPort").string().orElse("");
                ports.add(
                    port(
                        inside,
                        port.isEmpty() || port.equals("0")
                            ? OptionalInt.empty()
                            : OptionalInt.of(number(port)),
                        ip.isEmpty() || ip.equals("0.0.0.0") || ip.equals("::")
                            ? Optional.empty()
                            : Optional.of(address(ip))));
              }
            });
    if (host.at("PublishAllPorts").bool().orElse(false)) {
      for (String exposed : exposed(image)) {
        if (!host.at("PortBindings").members().containsKey(exposed)) {
          ports.add(port(exposed, OptionalInt.empty(), Optional.empty()));
        }
      }
    }
    return ports;
  }

  /** Ports of the request and of the image, as {@code 80/tcp}. */
  Set<String> exposed(Optional<ImageDetails> image) {
    var exposed = new LinkedHashSet<String>();
    body.at("ExposedPorts").members().keySet().forEach(port -> exposed.add(full(port)));
    image.ifPresent(known -> known.run().exposedPorts().forEach(port -> exposed.add(full(port))));
    return exposed;
  }

  private static String full(String port) {
    return port.contains("/") ? port : port + "/tcp";
  }

  private static NetworkSpec.Port port(
      String inside, OptionalInt hostPort, Optional<InetAddress> ip) {
    String[] parts = full(inside).split("/", 2);
    NetworkSpec.Protocol protocol =
        switch (parts[1]) {
          case "tcp" -> NetworkSpec.Protocol.TCP;
          case "udp" -> NetworkSpec.Protocol.UDP;
          default ->
              throw DockerError.unsupportedField(
                  "HostConfig.PortBindings", "protocol '%s'".formatted(parts[1]));
        };
    return new NetworkSpec.Port(hostPort, number(parts[0]), protocol, ip);
  }

  private static int number(String text) {
    try {
      int port = Integer.parseInt(text);
      if (port > 0 && port <= LARGEST_PORT) {
        return port;
      }
    } catch (NumberFormatException _) {
      // said below
    }
    throw DockerError.badRequest("invalid port specification: \"%s\"".formatted(text));
  }
}
