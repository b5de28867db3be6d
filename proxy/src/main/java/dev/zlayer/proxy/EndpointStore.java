package dev.zlayer.proxy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.IpText;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.port.DeploymentNames.Range;
import dev.zlayer.spec.value.Transport;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

/**
 * What the kernel is asked to forward, on disk before it is asked, so that the next agent starts
 * with it and interrupts no connection. One file per service and per network: the cost of a change
 * does not depend on how many others there are.
 */
final class EndpointStore {
  private static final System.Logger LOG = LazyLogger.of(EndpointStore.class);

  /** The first version was a single file, see {@link #former}. */
  static final StoredFormat FORMAT =
      StoredFormat.of("the record of an endpoint", UnaryOperator.identity());

  private static final String SERVICE = "service-";
  private static final String NETWORK = "network-";
  private static final String SUFFIX = ".json";

  /** All that is stored. */
  record State(List<Endpoint> endpoints, Map<String, Range> ranges, int namePort) {
    State {
      endpoints = List.copyOf(endpoints);
    }
  }

  private final Path directory;

  EndpointStore(Path directory) {
    this.directory = directory;
  }

  /** What cannot be read is left out: it is lost by a power failure, and so are the rules. */
  State load() {
    var endpoints = new ArrayList<Endpoint>();
    var ranges = new TreeMap<String, Range>();
    int port = 0;
    try {
      Files.createDirectories(directory);
      try (var files = Files.list(directory)) {
        for (Path file : files.sorted().toList()) {
          String name = String.valueOf(file.getFileName());
          try {
            if (name.startsWith(SERVICE)) {
              endpoints.addAll(service(read(file)));
            } else if (name.startsWith(NETWORK)) {
              Json json = read(file);
              ranges.put(text(json, "deployment"), range(json));
            } else if (file.equals(portFile())) {
              port = number(read(file), "port");
            }
          } catch (IOException | RuntimeException e) {
            LOG.log(
                System.Logger.Level.WARNING,
                "ignored unreadable %s: %s".formatted(file, e.getMessage()));
          }
        }
      }
    } catch (IOException e) {
      throw failure(directory, e);
    }
    return new State(endpoints, ranges, port);
  }

  /** The single file of agents before this layout. */
  static State former(Path file) {
    try {
      Json json = JsonText.parse(Files.readAllBytes(file));
      var ranges = new TreeMap<String, Range>();
      json.at("ranges").items().forEach(one -> ranges.put(text(one, "deployment"), range(one)));
      List<Endpoint> endpoints =
          json.at("doors").items().stream()
              .map(
                  one ->
                      endpoint(
                          one,
                          new ServiceKey(text(one, "deployment"), text(one, "service")),
                          text(one, "endpoint"),
                          text(one, "way")))
              .toList();
      return new State(endpoints, ranges, number(json, "name_port"));
    } catch (IOException | RuntimeException e) {
      LOG.log(
          System.Logger.Level.WARNING, "ignored unreadable %s: %s".formatted(file, e.getMessage()));
      return new State(List.of(), Map.of(), 0);
    }
  }

  void save(ServiceKey service, Collection<Endpoint> endpoints) {
    Path file = file(SERVICE, service.deployment(), service.service());
    if (endpoints.isEmpty()) {
      delete(file);
      return;
    }
    write(
        file,
        FORMAT
            .begin()
            .put("deployment", service.deployment())
            .put("service", service.service())
            .put("endpoints", endpoints.stream().map(EndpointStore::json).toList())
            .build());
  }

  void save(String deployment, Range range) {
    write(
        file(NETWORK, deployment, "network"),
        FORMAT
            .begin()
            .put("deployment", deployment)
            .put("bridge", range.bridge())
            .put("network", range.network().getHostAddress())
            .put("prefix", range.prefixLength())
            .put("gateway", range.gateway().getHostAddress())
            .build());
  }

  void save(int namePort) {
    write(portFile(), FORMAT.begin().put("port", namePort).build());
  }

  void remove(String deployment) {
    delete(file(NETWORK, deployment, "network"));
  }

  void destroy() {
    if (!Files.exists(directory)) {
      return;
    }
    try (var files = Files.list(directory)) {
      files.forEach(EndpointStore::delete);
    } catch (IOException e) {
      throw failure(directory, e);
    }
    delete(directory);
  }

  static void delete(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot delete %s: %s".formatted(file, e.getMessage()), e);
    }
  }

  private Path portFile() {
    return directory.resolve("nameserver" + SUFFIX);
  }

  private Path file(String kind, String deployment, String service) {
    return directory.resolve(kind + ContainerId.of(deployment, service, 1).runtimeName() + SUFFIX);
  }

  private static void write(Path file, Json json) {
    try {
      AtomicFile.writeRelaxed(file, JsonText.bytes(json));
    } catch (IOException e) {
      throw failure(file, e);
    }
  }

  private static AgentException failure(Path file, IOException e) {
    return new AgentException.Configuration(
        "cannot write %s: %s".formatted(file, e.getMessage()), e);
  }

  private static Json read(Path file) throws IOException {
    return FORMAT.upgrade(JsonText.parse(Files.readAllBytes(file)), file);
  }

  private static Json json(Endpoint endpoint) {
    return Json.object()
        .put("name", endpoint.name())
        .put("transport", endpoint.key().transport())
        .put("loopback", endpoint.key().loopback())
        .put("port", endpoint.key().port())
        .put("target_port", endpoint.targetPort())
        .put("forwarding", endpoint.forwarding())
        .put("members", endpoint.members().stream().map(IpText::of).toList())
        .build();
  }

  private static List<Endpoint> service(Json json) {
    var key = new ServiceKey(text(json, "deployment"), text(json, "service"));
    return json.at("endpoints").items().stream()
        .map(one -> endpoint(one, key, text(one, "name"), text(one, "forwarding")))
        .toList();
  }

  private static Endpoint endpoint(Json json, ServiceKey service, String name, String forwarding) {
    return new Endpoint(
        new Endpoint.Key(
            Transport.valueOf(text(json, "transport").toUpperCase(Locale.ROOT)),
            json.at("loopback").bool().orElse(false),
            number(json, "port")),
        service,
        name,
        number(json, "target_port"),
        Endpoint.Forwarding.valueOf(forwarding.toUpperCase(Locale.ROOT)),
        json.at("members").strings().stream().map(InetAddress::ofLiteral).toList());
  }

  private static Range range(Json json) {
    return new Range(
        text(json, "bridge"),
        InetAddress.ofLiteral(text(json, "network")),
        number(json, "prefix"),
        InetAddress.ofLiteral(text(json, "gateway")));
  }

  private static String text(Json json, String member) {
    return json.at(member).string().orElseThrow();
  }

  private static int number(Json json, String member) {
    return json.at(member).integer().orElseThrow().intValue();
  }
}
