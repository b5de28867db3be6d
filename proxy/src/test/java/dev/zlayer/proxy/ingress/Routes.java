package dev.zlayer.proxy.ingress;

import dev.zlayer.spec.network.EncryptionSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.Exposure;
import dev.zlayer.spec.network.RoutePolicy;
import dev.zlayer.spec.network.RouteSpec;
import dev.zlayer.spec.network.TlsSpec;
import dev.zlayer.spec.value.AddressRange;
import dev.zlayer.spec.value.ByteSize;
import dev.zlayer.spec.value.HostNames;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Routes for tests. */
final class Routes {
  private Routes() {}

  static RouteSpec host(String host) {
    return of(host, Optional.empty());
  }

  static RouteSpec of(String host, Optional<String> path) {
    return of(host, path, RoutePolicy.NONE);
  }

  static RouteSpec of(String host, Optional<String> path, RoutePolicy policy) {
    RouteSpec none = RouteSpec.NONE;
    return new RouteSpec(
        Optional.of(HostNames.parse(host)),
        path,
        false,
        none.balance(),
        false,
        Optional.empty(),
        none.retries(),
        Optional.empty(),
        Optional.empty(),
        List.of(),
        List.of(),
        0,
        false,
        EncryptionSpec.NONE,
        policy);
  }

  /** Who may send requests. */
  static RouteSpec clients(String host, List<AddressRange> allow, List<AddressRange> deny) {
    return of(host, Optional.empty(), allow, deny);
  }

  /** Sets a header, whatever that has. */
  static RouteSpec withHeader(String host, String value) {
    return of(
        host,
        Optional.of(new RouteSpec.Headers(Map.of("X-In", value), Map.of())),
        List.of(),
        List.of());
  }

  private static RouteSpec of(
      String host,
      Optional<RouteSpec.Headers> headers,
      List<AddressRange> allow,
      List<AddressRange> deny) {
    RouteSpec none = RouteSpec.NONE;
    return new RouteSpec(
        Optional.of(HostNames.parse(host)),
        Optional.empty(),
        false,
        none.balance(),
        false,
        Optional.empty(),
        none.retries(),
        Optional.empty(),
        headers,
        allow,
        deny,
        0,
        false,
        EncryptionSpec.NONE,
        RoutePolicy.NONE);
  }

  /** How replicas are chosen, and how long they may take. */
  static RouteSpec choosing(
      String host, RouteSpec.Balance balance, boolean sticky, Optional<Duration> response) {
    return new RouteSpec(
        Optional.of(HostNames.parse(host)),
        Optional.empty(),
        false,
        balance,
        sticky,
        Optional.empty(),
        0,
        response.map(
            limit ->
                new RouteSpec.Timeouts(Optional.empty(), Optional.of(limit), Optional.empty())),
        Optional.empty(),
        List.of(),
        List.of(),
        0,
        false,
        EncryptionSpec.NONE,
        RoutePolicy.NONE);
  }

  /** Whose replicas speak HTTP/2, as gRPC needs. */
  static RouteSpec http2(String host) {
    var policy =
        new RoutePolicy(
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.of(RoutePolicy.ReplicaProtocol.HTTP2),
            Optional.empty());
    return of(host, Optional.empty(), policy);
  }

  /** With every setting there is. */
  static RouteSpec full() {
    return new RouteSpec(
        Optional.of(HostNames.of(List.of("full.test", "*.full.test"))),
        Optional.of("/a.b+c/"),
        true,
        RouteSpec.Balance.CLIENT_ADDRESS,
        true,
        Optional.of(Duration.ofSeconds(10)),
        3,
        Optional.of(
            new RouteSpec.Timeouts(
                Optional.of(Duration.ofSeconds(1)),
                Optional.of(Duration.ofMinutes(2)),
                Optional.of(Duration.ofHours(3)))),
        Optional.of(
            new RouteSpec.Headers(
                Map.of("X-In", "100% \"in\" #$ %[src]"), Map.of("X-Out", "$HOME %[src]; x"))),
        List.of(AddressRange.parse("127.0.0.0/8"), AddressRange.parse("fd00::/8")),
        List.of(AddressRange.parse("127.6.6.6")),
        3,
        true,
        EncryptionSpec.NONE,
        new RoutePolicy(
            Optional.empty(),
            Optional.of(new ByteSize(1_000_000)),
            Optional.of("<p>\"later\" 'or' %[src]\n"),
            Optional.empty(),
            Optional.of(Duration.ofSeconds(10)),
            Optional.of(RoutePolicy.ReplicaProtocol.HTTP1),
            Optional.of(Duration.ofSeconds(20))));
  }

  /** The same hosts with certificates of the local authority, and nothing else. */
  static RouteSpec withTls(RouteSpec route, boolean redirect) {
    RouteSpec none = RouteSpec.NONE;
    return new RouteSpec(
        route.host(),
        Optional.empty(),
        false,
        none.balance(),
        false,
        Optional.empty(),
        none.retries(),
        Optional.empty(),
        Optional.empty(),
        List.of(),
        List.of(),
        0,
        false,
        new EncryptionSpec(
            Optional.of(new TlsSpec(Optional.empty(), false, Optional.empty(), true)),
            redirect,
            Optional.empty()),
        RoutePolicy.NONE);
  }

  static EndpointSpec endpoint(String name, int port, RouteSpec route) {
    return new EndpointSpec(
        name,
        EndpointSpec.Protocol.HTTP,
        port,
        Optional.empty(),
        Exposure.INTERNAL,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        route);
  }
}
