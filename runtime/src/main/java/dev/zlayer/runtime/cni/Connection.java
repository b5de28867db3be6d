package dev.zlayer.runtime.cni;

import dev.zlayer.json.Json;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A further interface of a container.
 *
 * @param made the cable: the container's namespace, and what the plugins answered; null while it is
 *     being made
 * @param address the fixed one that was asked for
 */
record Connection(
    PreparedNamespace made,
    String interfaceName,
    List<String> aliases,
    Optional<InetAddress> address) {
  Connection {
    aliases = List.copyOf(aliases);
  }

  String network() {
    return made.network().orElseThrow();
  }

  boolean finished() {
    return !made.result().isNull();
  }

  Connection with(PreparedNamespace made) {
    return new Connection(made, interfaceName, aliases, address);
  }

  Cni.Target target() {
    return new Cni.Target(made.id(), made.netns().toString(), interfaceName);
  }

  Json json() {
    return Json.object()
        .put("interface", interfaceName)
        .put("aliases", aliases)
        .putIf("address", address.map(InetAddress::getHostAddress))
        .put("made", made.json())
        .build();
  }

  static Optional<Connection> parse(Json json, Path file) {
    return PreparedNamespace.parse(json.at("made"), file)
        .filter(made -> made.network().isPresent())
        .map(
            made ->
                new Connection(
                    made,
                    json.at("interface").string().orElseThrow(),
                    json.at("aliases").strings(),
                    json.at("address").string().map(InetAddress::ofLiteral)));
  }
}
