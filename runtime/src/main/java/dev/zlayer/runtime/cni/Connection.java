package dev.zlayer.runtime.cni;

import dev.zlayer.container.ConnectionSpec;
import dev.zlayer.container.IpText;
import dev.zlayer.json.Json;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A further interface of a container.
 *
 * @param made the cable: the container's namespace, and what the plugins answered; null while it is
 *     being made
 * @param asked as somebody wants it to be
 */
record Connection(PreparedNamespace made, String interfaceName, ConnectionSpec asked) {
  String network() {
    return made.network().orElseThrow();
  }

  boolean finished() {
    return !made.result().isNull();
  }

  Connection with(PreparedNamespace made) {
    return new Connection(made, interfaceName, asked);
  }

  Cni.Target target() {
    return new Cni.Target(made.id(), made.netns().toString(), interfaceName);
  }

  Json json() {
    return Json.object()
        .put("interface", interfaceName)
        .put("aliases", asked.aliases())
        .putIf("address", asked.addresses().stream().findFirst().map(IpText::of))
        .putIf("second_address", asked.addresses().stream().skip(1).findFirst().map(IpText::of))
        .putIf("mac", asked.mac())
        .putIf(
            "links",
            Optional.of(asked.links().stream().map(ConnectionSpec.Link::toString).toList())
                .filter(links -> !links.isEmpty()))
        .putIf("options", Optional.of(asked.options()).filter(options -> !options.isEmpty()))
        .put("made", made.json())
        .build();
  }

  static Optional<Connection> parse(Json json, Path file) {
    return PreparedNamespace.parse(json.at("made"), file)
        .filter(made -> made.network().isPresent())
        .map(
            made -> new Connection(made, json.at("interface").string().orElseThrow(), asked(json)));
  }

  private static ConnectionSpec asked(Json json) {
    return new ConnectionSpec(
        json.at("aliases").strings(),
        Stream.of("address", "second_address")
            .flatMap(name -> json.at(name).string().stream())
            .map(InetAddress::ofLiteral)
            .toList(),
        json.at("mac").string(),
        json.at("links").strings().stream().map(ConnectionSpec.Link::parse).toList(),
        json.at("options").stringMap());
  }
}
