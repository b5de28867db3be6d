package dev.zlayer.spec.check;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.Exposure;
import dev.zlayer.spec.network.RouteSpec;
import dev.zlayer.spec.problem.SpecPath;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** Settings of the ingress, and that no two endpoints are given the same requests. */
final class RouteCheck {
  /** What makes the ingress serve an endpoint. */
  private static final List<String> MATCH = List.of("host", "path");

  /** What needs it. */
  private static final List<String> SETTINGS =
      List.of(
          "strip_prefix",
          "balance",
          "sticky",
          "hold",
          "retries",
          "timeouts",
          "headers",
          "allow",
          "deny",
          "rate_limit",
          "compress",
          PolicyCheck.BASIC_AUTH,
          PolicyCheck.MAX_BODY,
          PolicyCheck.MAINTENANCE_PAGE,
          PolicyCheck.SEND_PROXY,
          PolicyCheck.EJECT_FAILING,
          PolicyCheck.REPLICA_PROTOCOL,
          PolicyCheck.DRAIN);

  private static final Pattern HEADER_NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9-]{0,99}");
  private static final Pattern HEADER_VALUE = Pattern.compile("[ -~&&[^'\\\\]]{0,2000}");
  private static final Pattern SET_BY_INGRESS =
      Pattern.compile(
          "(?i)host|content-length|transfer-encoding|connection|upgrade|forwarded|x-forwarded-.*");

  private RouteCheck() {}

  static void check(EndpointSpec endpoint, SpecPath here, Findings findings) {
    RouteSpec route = endpoint.route();
    if (StreamEndpointCheck.meant(endpoint)) {
      StreamEndpointCheck.check(endpoint, here, findings);
      return;
    }
    if (!endpoint.protocol().http()) {
      refuse(MATCH, "is only for protocol http, https or websocket, remove it", here, findings);
      refuse(SETTINGS, "is only for protocol http, https or websocket, remove it", here, findings);
      String tls =
          endpoint.protocol() == EndpointSpec.Protocol.TCP
              ? "is only for connections that are routed, write host"
              : "is only for protocol https, websocket or tcp, remove it";
      refuse(TlsCheck.KEYS, tls, here, findings);
      return;
    }
    if (!route.routed()) {
      refuse(SETTINGS, "is only for requests that are routed, write host or path", here, findings);
      refuse(TlsCheck.KEYS, "is only for requests that are routed, write host", here, findings);
      return;
    }
    TlsCheck.check(endpoint, here, findings);
    exposed(endpoint, here, findings);
    String path = route.path().orElse("/");
    if (path.contains("//") || path.matches("(.*/)?\\.\\.?(/.*)?")) {
      findings.problem(here.key("path"), "has an empty segment, . or .., write the plain path");
    }
    if (route.stripPrefix() && route.prefix().isEmpty()) {
      findings.problem(here.key("strip_prefix"), "needs a path other than /, write one");
    }
    durations(route, here, findings);
    PolicyCheck.check(endpoint, here, findings);
    route
        .headers()
        .ifPresent(
            headers -> {
              headers(headers.request(), here.key("headers").key("request"), findings);
              headers(headers.response(), here.key("headers").key("response"), findings);
            });
  }

  static void exposed(EndpointSpec endpoint, SpecPath here, Findings findings) {
    if (endpoint.expose() == Exposure.INTERNAL && findings.written(here.key("expose"))) {
      findings.problem(
          here.key("expose"), "contradicts host and path, which are public, remove one of the two");
    }
  }

  static void refuse(List<String> keys, String reason, SpecPath here, Findings findings) {
    keys.stream()
        .filter(key -> findings.written(here.key(key)))
        .forEach(key -> findings.problem(here.key(key), reason));
  }

  static void durations(RouteSpec route, SpecPath here, Findings findings) {
    positive(route.hold(), here.key("hold"), findings);
    positive(route.policy().drain(), here.key(PolicyCheck.DRAIN), findings);
    route
        .timeouts()
        .ifPresent(
            limits -> {
              SpecPath path = here.key("timeouts");
              positive(limits.connect(), path.key("connect"), findings);
              positive(limits.response(), path.key("response"), findings);
              positive(limits.tunnel(), path.key("tunnel"), findings);
            });
  }

  static void positive(Optional<Duration> value, SpecPath path, Findings findings) {
    value.ifPresent(duration -> findings.positive(path, duration));
    if (value.filter(duration -> duration.compareTo(Duration.ofDays(1)) > 0).isPresent()) {
      findings.problem(path, "is longer than a day, write at most 24h");
    }
  }

  private static void headers(Map<String, String> headers, SpecPath path, Findings findings) {
    headers.forEach(
        (name, value) -> {
          if (!HEADER_NAME.matcher(name).matches()) {
            findings.problem(
                path.key(name), "is not a header name, write letters, digits and hyphens");
          } else if (SET_BY_INGRESS.matcher(name).matches()) {
            findings.problem(path.key(name), "is set by the ingress itself, remove it");
          } else if (!HEADER_VALUE.matcher(value).matches()) {
            findings.problem(
                path.key(name),
                "holds a quote, a backslash or a character that is not plain ASCII, remove it");
          }
        });
  }

  /** No two endpoints are given the same requests. */
  static void collisions(DeploymentSpec deployment, Findings findings) {
    var routes = new HashMap<String, SpecPath>();
    deployment
        .services()
        .forEach(
            (name, service) -> {
              List<EndpointSpec> endpoints = service.networking().endpoints();
              for (int i = 0; i < endpoints.size(); i++) {
                SpecPath here = Checks.service(name).key("endpoints").index(i);
                if (endpoints.get(i).route().routed()
                    && !StreamEndpointCheck.meant(endpoints.get(i))
                    && findings.clean(here)) {
                  claim(endpoints.get(i).route(), here, routes, findings);
                }
              }
            });
  }

  private static void claim(
      RouteSpec route, SpecPath here, Map<String, SpecPath> routes, Findings findings) {
    for (String host : route.hosts()) {
      SpecPath first = routes.putIfAbsent(host + route.prefix() + "/", here);
      if (first != null && !first.equals(here)) {
        findings.problem(
            here.key(route.host().isPresent() ? "host" : "path"),
            "%s already serves %s%s/, write another".formatted(first, host, route.prefix()));
      }
    }
  }
}
