package dev.zlayer.spec.check;

import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.RoutePolicy;
import dev.zlayer.spec.problem.SpecPath;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** Settings of an endpoint with requests: who may send them, how large, and what 503 looks like. */
final class PolicyCheck {
  static final String BASIC_AUTH = "basic_auth";
  static final String MAX_BODY = "max_body";
  static final String MAINTENANCE_PAGE = "maintenance_page";
  static final String SEND_PROXY = "send_proxy";
  static final String EJECT_FAILING = "eject_failing";
  static final String REPLICA_PROTOCOL = "replica_protocol";
  static final String DRAIN = "drain";

  /** HAProxy keeps a response of its own in one buffer. */
  private static final int LARGEST_PAGE = 10_000;

  private static final Pattern SECRET_NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}");

  private PolicyCheck() {}

  static void check(EndpointSpec endpoint, SpecPath here, Findings findings) {
    RoutePolicy policy = endpoint.route().policy();
    if (policy.basicAuth().filter(name -> !SECRET_NAME.matcher(name).matches()).isPresent()) {
      findings.problem(
          here.key(BASIC_AUTH),
          "is not the name of a secret, write letters, digits, '_', '.' and '-'");
    }
    if (policy.basicAuth().isPresent() && endpoint.route().encryption().tls().isEmpty()) {
      findings.warn(here.key(BASIC_AUTH), "passwords can be read on their way without tls");
    }
    if (policy.maxBody().filter(size -> size.bytes() == 0).isPresent()) {
      findings.problem(here.key(MAX_BODY), "must be larger than 0, write for example 10Mi");
    }
    if (policy.replicaProtocol().filter(RoutePolicy.ReplicaProtocol.HTTP2::equals).isPresent()
        && endpoint.protocol() == EndpointSpec.Protocol.WEBSOCKET) {
      findings.problem(
          here.key(REPLICA_PROTOCOL), "http2 has no upgrade to a WebSocket, write http1");
    }
    RouteCheck.positive(policy.ejectFailing(), here.key(EJECT_FAILING), findings);
    policy
        .maintenancePage()
        .ifPresent(
            page -> {
              if (page.isBlank() || page.indexOf('\0') >= 0) {
                findings.problem(here.key(MAINTENANCE_PAGE), "is empty, write text or HTML");
              } else if (page.getBytes(StandardCharsets.UTF_8).length > LARGEST_PAGE) {
                findings.problem(
                    here.key(MAINTENANCE_PAGE), "is too large, write at most 10,000 bytes");
              }
            });
  }
}
