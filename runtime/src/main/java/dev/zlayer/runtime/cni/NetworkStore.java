package dev.zlayer.runtime.cni;

import dev.zlayer.container.IpText;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.linux.Ipv6;
import dev.zlayer.host.linux.Links;
import dev.zlayer.host.linux.Routes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** The networks of this agent, one file each, so that a network keeps its bridge and range. */
final class NetworkStore {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}");
  private static final System.Logger LOG = LazyLogger.of(NetworkStore.class);
  static final StoredFormat FORMAT = StoredFormat.of("the network");
  private static final String SUFFIX = ".json";

  /** Shorter prefixes are routes to the world, not networks of this host. */
  private static final int SHORTEST_ROUTE = 16;

  private final Path directory;
  private final String prefix;
  private final Subnet range;
  private final boolean ipv6;
  private final SecureRandom random = new SecureRandom();
  private final KeyedLock<String> lock = new KeyedLock<>();
  private final Map<String, NamedNetwork> networks = new ConcurrentHashMap<>();

  private NetworkStore(Path directory, String prefix, Subnet range, boolean ipv6) {
    this.directory = directory;
    this.ipv6 = ipv6;
    this.prefix = prefix;
    this.range = range;
  }

  static NetworkStore open(NetworkConfig config) throws IOException {
    Path directory = config.stateDirectory().resolve("networks");
    Files.createDirectories(directory);
    var store = new NetworkStore(directory, config.prefix(), config.subnets(), config.ipv6());
    try (var files = Files.list(directory)) {
      for (Path file : files.filter(file -> file.toString().endsWith(SUFFIX)).toList()) {
        try {
          NamedNetwork network = read(file);
          store.networks.put(network.name(), network);
        } catch (IOException | AgentException | IllegalArgumentException e) {
          // its containers keep their addresses; the network is made anew when it is used again
          Path aside = file.resolveSibling(file.getFileName() + ".damaged");
          Files.move(file, aside, StandardCopyOption.REPLACE_EXISTING);
          LOG.log(
              System.Logger.Level.ERROR,
              "network %s cannot be read and was moved to %s: %s"
                  .formatted(file.getFileName(), aside, e.getMessage()));
        }
      }
    }
    store.addIpv6();
    return store;
  }

  /** Networks of the time before the operator asked for IPv6; containers get it from now on. */
  private void addIpv6() throws IOException {
    for (NamedNetwork network : all()) {
      boolean unasked = network.options().equals(NetworkOptions.NONE);
      if (unasked && network.subnetIpv6().isEmpty()) {
        Optional<Subnet6> range = ipv6(network.name(), network.options());
        if (range.isPresent()) {
          save(
              new NamedNetwork(
                  network.name(), network.bridge(), network.subnet(), range, network.options()));
        }
      }
    }
  }

  private void save(NamedNetwork network) throws IOException {
    AtomicFile.write(file(network.name()), JsonText.bytes(json(network)));
    networks.put(network.name(), network);
  }

  List<NamedNetwork> all() {
    return networks.values().stream().sorted(Comparator.comparing(NamedNetwork::name)).toList();
  }

  Optional<NamedNetwork> find(String name) {
    return Optional.ofNullable(networks.get(name));
  }

  NamedNetwork create(String name) throws InterruptedException {
    return create(name, NetworkOptions.NONE, Optional.empty());
  }

  /**
   * Records a network with a free bridge name and a range that nothing else on this host uses.
   *
   * @param within where that range is; among those of this agent when absent
   */
  NamedNetwork create(String name, NetworkOptions options, Optional<Subnet> within)
      throws InterruptedException {
    options.check(name);
    if (!NAME.matcher(name).matches()) {
      throw new AgentException.InvalidSpec(
          "network name '%s' must be 1 to 64 letters, digits, '-', '_' or '.', and begin with a letter or digit"
              .formatted(name));
    }
    try (var _ = lock.lock(prefix)) {
      NamedNetwork existing = networks.get(name);
      if (existing != null) {
        return existing;
      }
      Subnet subnet =
          options.subnet().isPresent() ? unused(name, options) : freeSubnet(name, within);
      var network = new NamedNetwork(name, freeBridge(), subnet, ipv6(name, options), options);
      save(network);
      return network;
    } catch (IOException e) {
      throw new AgentException.Network(
          "network '%s' cannot be recorded in %s: %s".formatted(name, directory, e.getMessage()),
          e);
    }
  }

  /**
   * A range that nothing else on this host uses; none when nobody asked for it. A host that has no
   * IPv6 refuses who asked for this network, and goes without where the operator asked for all.
   */
  private Optional<Subnet6> ipv6(String name, NetworkOptions options) throws IOException {
    Optional<String> obstacle = Ipv6.obstacle();
    if (options.ipv6() && obstacle.isPresent()) {
      throw new AgentException.Unsupported(
          "network '%s': it cannot have IPv6 addresses: %s".formatted(name, obstacle.get()));
    }
    boolean general = ipv6 && options.equals(NetworkOptions.NONE);
    if (obstacle.isPresent() || !(options.ipv6() || general)) {
      return Optional.empty();
    }
    var taken = new ArrayList<Subnet6>();
    networks.values().forEach(network -> network.subnetIpv6().ifPresent(taken::add));
    for (Routes.Route6 route : Routes.ipv6()) {
      if (route.prefixLength() >= SHORTEST_ROUTE && route.prefixLength() <= Subnet6.GENERATED) {
        taken.add(new Subnet6(route.destination(), route.prefixLength()));
      }
    }
    if (options.subnetIpv6().isPresent()) {
      Subnet6 wanted = options.subnetIpv6().get();
      Optional<Subnet6> other = taken.stream().filter(wanted::overlaps).findFirst();
      if (other.isPresent()) {
        throw overlaps(name, wanted, other.get());
      }
      return options.subnetIpv6();
    }
    var bytes = new byte[7];
    Subnet6 generated;
    do {
      random.nextBytes(bytes);
      generated = Subnet6.uniqueLocal(bytes);
    } while (taken.stream().anyMatch(generated::overlaps));
    return Optional.of(generated);
  }

  private static AgentException overlaps(String name, Object wanted, Object other) {
    return new AgentException.InvalidSpec(
        "network '%s': subnet %s overlaps %s, which this host uses already; choose another one"
            .formatted(name, wanted, other));
  }

  void forget(String name) throws IOException {
    Files.deleteIfExists(file(name));
    networks.remove(name);
  }

  private String freeBridge() {
    List<String> taken = networks.values().stream().map(NamedNetwork::bridge).toList();
    return IntStream.range(0, 10_000)
        .mapToObj(number -> prefix + number)
        .filter(bridge -> !taken.contains(bridge) && !Links.exists(bridge))
        .findFirst()
        .orElseThrow(() -> new AgentException.Network("all bridges of this agent are taken"));
  }

  private Subnet unused(String name, NetworkOptions options) throws IOException {
    Subnet wanted = options.subnet().orElseThrow();
    Optional<Subnet> other = taken().stream().filter(wanted::overlaps).findFirst();
    if (other.isPresent()) {
      throw overlaps(name, wanted, other.get());
    }
    return wanted;
  }

  private List<Subnet> taken() throws IOException {
    var taken = new ArrayList<Subnet>();
    networks.values().forEach(network -> taken.add(network.subnet()));
    Routes.ipv4().stream()
        .filter(route -> route.prefixLength() > 0)
        .map(route -> new Subnet(route.destination(), route.prefixLength()))
        .forEach(taken::add);
    return taken;
  }

  private Subnet freeSubnet(String name, Optional<Subnet> within) throws IOException {
    List<Subnet> taken = taken();
    if (within.isPresent()) {
      taken.add(within.get().first(Subnet.NAMED_NETWORK)); // has the node's own address
      return within
          .get()
          .free(Subnet.NAMED_NETWORK, taken)
          .orElseThrow(
              () ->
                  new AgentException.Network(
                      "no range is free for network '%s': all of %s, which the cluster gave to this"
                              .formatted(name, within.get())
                          + " node, is used; remove a deployment"));
    }
    int size = name.equals(NamedNetwork.DEFAULT) ? Subnet.DEFAULT_NETWORK : Subnet.NAMED_NETWORK;
    return range
        .free(size, taken)
        .orElseThrow(
            () ->
                new AgentException.Network(
                    "no range is free for network '%s': all of %s is used by networks or routes;"
                            .formatted(name, range)
                        + " remove a deployment or network, or set network_range to a larger one"));
  }

  private Path file(String name) {
    return directory.resolve(name + SUFFIX);
  }

  static Json json(NamedNetwork network) {
    return FORMAT
        .begin()
        .put("name", network.name())
        .put("bridge", network.bridge())
        .put("subnet", network.subnet().toString())
        .putIf("subnet_ipv6", network.subnetIpv6().map(Subnet6::toString))
        .putIf("options", options(network.options()))
        .build();
  }

  private static Optional<Json> options(NetworkOptions options) {
    if (options.equals(NetworkOptions.NONE)) {
      return Optional.empty();
    }
    return Optional.of(
        Json.object()
            .putIf("subnet", options.subnet().map(Subnet::toString))
            .putIf("gateway", options.gateway().map(InetAddress::getHostAddress))
            .putIf("range", options.range().map(Subnet::toString))
            .putIf("ipv6", Optional.of(true).filter(_ -> options.ipv6()))
            .putIf("subnet_ipv6", options.subnetIpv6().map(Subnet6::toString))
            .put("internal", options.internal())
            .put("labels", options.labels())
            .putIf("created", options.created().map(Instant::toString))
            .putIf("gateway_ipv6", options.gatewayIpv6().map(IpText::of))
            .putIf("range_ipv6", options.rangeIpv6().map(Subnet6::toString))
            .putIf(
                "reserved",
                Optional.of(options.reserved())
                    .filter(reserved -> !reserved.isEmpty())
                    .map(NetworkStore::texts))
            .build());
  }

  private static Map<String, String> texts(Map<String, InetAddress> addresses) {
    var texts = new TreeMap<String, String>();
    addresses.forEach((name, address) -> texts.put(name, IpText.of(address)));
    return texts;
  }

  private static Map<String, InetAddress> addresses(Map<String, String> texts) {
    var addresses = new TreeMap<String, InetAddress>();
    texts.forEach((name, text) -> addresses.put(name, InetAddress.ofLiteral(text)));
    return addresses;
  }

  private static NetworkOptions options(Json json) {
    return json.isNull()
        ? NetworkOptions.NONE
        : new NetworkOptions(
            json.at("subnet").string().map(Subnet::parse),
            json.at("gateway").string().map(InetAddress::ofLiteral),
            json.at("range").string().map(Subnet::parse),
            json.at("ipv6").bool().orElse(false),
            json.at("subnet_ipv6").string().map(Subnet6::parse),
            json.at("internal").bool().orElse(false),
            json.at("labels").stringMap(),
            json.at("created").string().map(Instant::parse),
            json.at("gateway_ipv6").string().map(InetAddress::ofLiteral),
            json.at("range_ipv6").string().map(Subnet6::parse),
            addresses(json.at("reserved").stringMap()));
  }

  static NamedNetwork read(Path file) throws IOException {
    try {
      Json json = FORMAT.upgrade(JsonText.parse(Files.readAllBytes(file)), file);
      return new NamedNetwork(
          json.at("name").string().orElseThrow(),
          json.at("bridge").string().orElseThrow(),
          Subnet.parse(json.at("subnet").string().orElseThrow()),
          json.at("subnet_ipv6").string().map(Subnet6::parse),
          options(json.at("options")));
    } catch (AgentException.InvalidSpec | java.util.NoSuchElementException e) {
      throw new AgentException.Configuration(
          "%s does not describe a network: restore or delete it".formatted(file), e);
    }
  }
}
