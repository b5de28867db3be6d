package dev.zlayer.runtime.cni;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.linux.BootId;
import dev.zlayer.host.linux.IpForwarding;
import dev.zlayer.host.linux.Ipv6;
import dev.zlayer.host.linux.Links;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Lets the host forward packets of containers, and those alone. The kernel knows only one switch,
 * so a host that was no router would become one between all its interfaces. Where the agent had to
 * turn the switch it remembers which interfaces there were, until the next boot, and the rules drop
 * what goes from one of these to another. Where forwarding was on before, the host is meant to be a
 * router, and nothing is dropped.
 */
final class Forwarding {
  private static final String LOOPBACK = "lo";
  private static final Pattern WRITABLE = Pattern.compile("[A-Za-z0-9_.:@-]+");

  private final NetworkConfig config;
  private final Path file;
  private final Map<IpForwarding, Set<String>> outside = new EnumMap<>(IpForwarding.class);

  private Forwarding(NetworkConfig config) {
    this.config = config;
    this.file = config.runDirectory().resolve("forwarding.json");
  }

  static Forwarding open(NetworkConfig config) throws IOException {
    var forwarding = new Forwarding(config);
    if (config.forwardDrop() && Files.exists(forwarding.file)) {
      forwarding.load();
    }
    return forwarding;
  }

  private void load() throws IOException {
    Json record;
    try {
      record = JsonText.parse(Files.readAllBytes(file));
    } catch (AgentException _) {
      // damaged: what it says about kinds and names is lost, that there was a switch is not
      for (IpForwarding kind : IpForwarding.values()) {
        outside.put(kind, Set.of(LOOPBACK));
      }
      return;
    }
    if (record.at("boot").string().filter(BootId.read()::equals).isPresent()) {
      for (IpForwarding kind : IpForwarding.values()) {
        Set<String> names = Set.copyOf(record.at(key(kind)).strings());
        if (!names.isEmpty()) {
          outside.put(kind, names);
        }
      }
    }
  }

  /**
   * The interfaces between which packets are dropped, by the kind of address; a kind that is absent
   * is forwarded as the host was set up.
   */
  Map<IpForwarding, Set<String>> outside() {
    return Map.copyOf(outside);
  }

  /** To be called before the rules are written: they have to be there when the switch is turned. */
  void prepare(List<NamedNetwork> networks) {
    boolean changed = false;
    for (IpForwarding kind : needed(networks)) {
      if (config.forwardDrop() && !outside.containsKey(kind) && !kind.on()) {
        outside.put(kind, others());
        changed = true;
      }
    }
    if (changed) {
      save();
    }
  }

  /**
   * To be called when the rules are written. Where the switch cannot be turned the first container
   * fails with the reason, since its plugin tries the same.
   */
  void enable(List<NamedNetwork> networks) {
    for (IpForwarding kind : needed(networks)) {
      try {
        if (!kind.on()) {
          if (kind == IpForwarding.IPV6) {
            Ipv6.keepAdvertisedRoutes(); // else the host would lose its router
          }
          kind.switchOn();
        }
      } catch (IOException _) {
        // reported by the plugin
      }
    }
  }

  private static Set<IpForwarding> needed(List<NamedNetwork> networks) {
    if (networks.isEmpty()) {
      return Set.of();
    }
    return networks.stream().anyMatch(network -> network.dualStack().isPresent())
        ? Set.of(IpForwarding.IPV4, IpForwarding.IPV6)
        : Set.of(IpForwarding.IPV4);
  }

  /** All interfaces but ours; never none, as the loopback interface is one. */
  private Set<String> others() {
    try {
      var names = new TreeSet<>(Links.names());
      names.removeIf(
          name -> name.matches(config.prefix() + "\\d+") || !WRITABLE.matcher(name).matches());
      names.add(LOOPBACK);
      return names;
    } catch (IOException e) {
      throw new AgentException.Network(
          "cannot list the interfaces of this host: " + e.getMessage(), e);
    }
  }

  private void save() {
    try {
      var record = Json.object().put("boot", BootId.read());
      outside.forEach((kind, names) -> record.put(key(kind), List.copyOf(names)));
      AtomicFile.write(file, JsonText.bytes(record.build()));
    } catch (IOException e) {
      throw new AgentException.Network(
          "cannot record that this host begins to forward packets: " + e.getMessage(), e);
    }
  }

  private static String key(IpForwarding kind) {
    return kind.name().toLowerCase(Locale.ROOT);
  }
}
