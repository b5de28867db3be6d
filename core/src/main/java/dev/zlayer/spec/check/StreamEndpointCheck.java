package dev.zlayer.spec.check;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.EndpointSpec.Protocol;
import dev.zlayer.spec.network.TlsSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.value.HostNames;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Connections of any protocol within TLS, which the ingress tells apart by the name they ask for.
 */
final class StreamEndpointCheck {
  private static final String HOST = "host";
  private static final String TLS = "tls";

  /** What needs requests, which a plain connection does not have. */
  private static final List<String> OF_REQUESTS =
      List.of(
          "path",
          "strip_prefix",
          "sticky",
          "headers",
          "rate_limit",
          "compress",
          PolicyCheck.BASIC_AUTH,
          PolicyCheck.MAX_BODY,
          PolicyCheck.MAINTENANCE_PAGE,
          PolicyCheck.EJECT_FAILING,
          PolicyCheck.REPLICA_PROTOCOL,
          "redirect_http",
          "hsts");

  private StreamEndpointCheck() {}

  static boolean meant(EndpointSpec endpoint) {
    return endpoint.protocol() == Protocol.TCP && endpoint.route().host().isPresent();
  }

  static void check(EndpointSpec endpoint, SpecPath here, Findings findings) {
    RouteCheck.refuse(
        OF_REQUESTS, "is only for protocol http, https or websocket, remove it", here, findings);
    SpecPath response = here.key("timeouts").key("response");
    if (findings.written(response)) {
      findings.problem(response, "is only for responses to requests, write tunnel");
    }
    RouteCheck.exposed(endpoint, here, findings);
    RouteCheck.durations(endpoint.route(), here, findings);
    if (endpoint.route().hosts().contains(HostNames.ANY)) {
      findings.problem(here.key(HOST), "the name in the handshake decides, write the names");
    }
    Optional<TlsSpec> tls = endpoint.route().encryption().tls();
    if (tls.isEmpty()) {
      findings.problem(
          here.key(TLS),
          "is missing, write passthrough, acme, self_signed or a secret: {secret: NAME}");
    } else if (tls.get().sources() != 1) {
      findings.problem(
          here.key(TLS), "needs exactly one of passthrough, acme, secret and self_signed");
    }
  }

  /** A host is given to one endpoint of this kind, and to none that is served with HTTPS. */
  static void collisions(DeploymentSpec deployment, Findings findings) {
    var first = new HashMap<String, Claim>();
    deployment
        .services()
        .forEach(
            (name, service) -> {
              List<EndpointSpec> endpoints = service.networking().endpoints();
              for (int i = 0; i < endpoints.size(); i++) {
                SpecPath here = Checks.service(name).key("endpoints").index(i);
                EndpointSpec endpoint = endpoints.get(i);
                if (endpoint.route().encryption().tls().isPresent() && findings.clean(here)) {
                  claim(endpoint, here, first, findings);
                }
              }
            });
  }

  private record Claim(SpecPath path, boolean stream) {}

  private static void claim(
      EndpointSpec endpoint, SpecPath here, Map<String, Claim> first, Findings findings) {
    boolean stream = meant(endpoint);
    for (String host : endpoint.route().hosts()) {
      Claim other = first.putIfAbsent(host, new Claim(here, stream));
      if (other != null && !other.path().equals(here) && (stream || other.stream())) {
        findings.problem(
            here.key(HOST),
            "%s already gets all connections for %s, write another".formatted(other.path(), host));
      }
    }
  }
}
