package dev.zlayer.daemon.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.port.Connectable;
import dev.zlayer.port.Container;
import dev.zlayer.runtime.cni.Networks;
import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Connects a container that was just made as {@code NetworkingConfig} asks: aliases and fixed
 * addresses, and the networks besides the first one.
 */
final class EndpointSetup {
  private static final Set<String> UNCONNECTED = Set.of("host", "none");

  private final Optional<Networks> networks;
  private final DockerNetworkIndex index;

  EndpointSetup(Optional<Networks> networks) {
    this.networks = networks;
    this.index = new DockerNetworkIndex(networks);
  }

  /** What is asked of one network. */
  private record Endpoint(List<String> aliases, Optional<InetAddress> address) {
    static Endpoint of(Json json) {
      return new Endpoint(
          json.at("Aliases").strings(),
          json.at("IPAMConfig")
              .at("IPv4Address")
              .string()
              .filter(text -> !text.isEmpty())
              .map(EndpointSetup::address));
    }
  }

  private static InetAddress address(String text) {
    try {
      return InetAddress.ofLiteral(text);
    } catch (IllegalArgumentException _) {
      throw DockerError.badRequest("invalid IPv4 address: " + text);
    }
  }

  /** The endpoints of a request by the agent's names of their networks. */
  private Map<String, Endpoint> endpoints(Json.Obj body) {
    var all = new LinkedHashMap<String, Endpoint>();
    body.at("NetworkingConfig")
        .at("EndpointsConfig")
        .members()
        .forEach(
            (name, endpoint) -> {
              if (!UNCONNECTED.contains(name)) {
                DockerNetworkIndex.Found network =
                    index
                        .find(name)
                        .orElseThrow(
                            () -> DockerError.badRequest("network %s not found".formatted(name)));
                all.put(network.own(), Endpoint.of(endpoint));
              }
            });
    return all;
  }

  void connect(Container container, Json.Obj body) throws InterruptedException {
    String mode = NetworkOptions.mode(body);
    if (networks.isEmpty() || UNCONNECTED.contains(mode) || mode.startsWith("container:")) {
      return;
    }
    String first = index.find(mode).map(DockerNetworkIndex.Found::own).orElse(mode);
    for (var wanted : endpoints(body).entrySet()) {
      Endpoint endpoint = wanted.getValue();
      boolean usual = wanted.getKey().equals(first);
      if (usual && endpoint.address().isEmpty()) {
        if (!endpoint.aliases().isEmpty()) {
          networks.get().members().alias(container.id().runtimeName(), endpoint.aliases());
        }
        continue;
      }
      if (!(container instanceof Connectable connectable)) {
        throw new AgentException.Unsupported(
            "container %s: its runtime has no networks".formatted(container.id()));
      }
      if (usual) {
        connectable.disconnect(first); // to be connected with the address that is asked for
      }
      connectable.connect(wanted.getKey(), endpoint.aliases(), endpoint.address());
    }
  }
}
