package dev.zlayer.engine.health;

import dev.zlayer.json.StoredName;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.service.HealthCheck;
import dev.zlayer.spec.value.ExpectedStatus;
import dev.zlayer.spec.value.Transport;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What is tried to learn whether a replica works. */
public sealed interface Probe {
  /** A running process is enough. */
  @StoredName("alive")
  record Alive() implements Probe {}

  /** A port of the container accepts connections. */
  @StoredName("tcp")
  record Tcp(int port) implements Probe {}

  /** A request to the container is answered as expected; the host of the address is ignored. */
  @StoredName("http")
  record Http(String url, ExpectedStatus expect, Map<String, String> headers) implements Probe {
    public Http {
      headers = Map.copyOf(headers);
    }
  }

  /** A command inside the container ends with 0. */
  @StoredName("command")
  record Command(List<String> words) implements Probe {
    public Command {
      words = List.copyOf(words);
    }
  }

  /** What the file asks for; without a word about health the first endpoint, else being alive. */
  static Probe of(ServiceSpec service) {
    return service
        .lifecycle()
        .health()
        .map(health -> of(health.check(), service))
        .orElseGet(() -> endpoint(service));
  }

  private static Probe of(HealthCheck check, ServiceSpec service) {
    return switch (check) {
      case HealthCheck.None() -> new Alive();
      case HealthCheck.Tcp(int port) -> port == 0 ? endpoint(service) : new Tcp(port);
      case HealthCheck.Http(String url, var expect, var headers) ->
          new Http(full(url, service), expect, headers);
      case HealthCheck.Command(var command) -> new Command(command.words());
    };
  }

  private static Probe endpoint(ServiceSpec service) {
    return port(service).<Probe>map(Tcp::new).orElseGet(Alive::new);
  }

  /** A path alone means the first endpoint. */
  private static String full(String url, ServiceSpec service) {
    return url.startsWith("/")
        ? "http://localhost:%d%s".formatted(port(service).orElse(80), url)
        : url;
  }

  private static Optional<Integer> port(ServiceSpec service) {
    return service.networking().endpoints().stream()
        .filter(endpoint -> endpoint.protocol().transport() == Transport.TCP)
        .map(EndpointSpec::containerPort)
        .findFirst();
  }
}
