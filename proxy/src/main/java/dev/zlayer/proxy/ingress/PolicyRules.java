package dev.zlayer.proxy.ingress;

import dev.zlayer.spec.network.RoutePolicy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.zip.CRC32C;

/** The part of a backend's configuration that decides who is let through. Pure. */
final class PolicyRules {
  private static final int NAME_BYTES = 40;

  private PolicyRules() {}

  /**
   * Credentials are not compared: a hash of them is searched, so that each attempt costs the same
   * and says nothing about what would have been right.
   */
  static List<String> authentication(Path directory, IngressEndpoint endpoint) {
    if (endpoint.route().policy().basicAuth().isEmpty()) {
      return List.of();
    }
    return List.of(
        "  http-request set-var(txn.credentials)"
            + " req.fhdr(authorization),regsub('^basic +','',i),b64dec",
        "  http-request set-var(txn.user) str(%s),concat(/,txn.credentials),sha2(256),hex,lower,map_str(%s)"
            .formatted(endpoint.backend(), directory.resolve(IngressUsers.MAP)),
        "  http-request auth realm %s unless { var(txn.user) -m found }"
            .formatted(endpoint.service().service()),
        "  http-request del-header Authorization",
        "  http-request set-header X-Forwarded-User %[var(txn.user)]");
  }

  /**
   * What announces its length is judged by it. What does not could be of any size: it is refused as
   * soon as its first byte is there. Of HTTP/2, only that byte says that there is a body at all;
   * and HAProxy cancels a stream that it answers before its end, which some clients take for the
   * answer: what fits into a buffer is awaited.
   */
  static List<String> body(RoutePolicy policy) {
    if (policy.maxBody().isEmpty()) {
      return List.of();
    }
    String unknown = "!{ req.hdr(content-length) -m found }";
    String refused =
        "  http-request return status 411 content-type text/plain string \"a length is required\\n"
            + "\" if ";
    String large =
        "{ req.hdr(content-length) -m found } { req.body_size gt %d }"
            .formatted(policy.maxBody().get().bytes());
    return List.of(
        "  http-request wait-for-body time 5s if { req.ver 2.0 } { req.body_size lt 15000 } "
            + large,
        "  http-request deny deny_status 413 if " + large,
        refused + "{ req.hdr(transfer-encoding) -m found }",
        "  http-request wait-for-body time 10s at-least 1 if { req.ver 2.0 } !{ req.hdr(upgrade) -m"
            + " found } "
            + unknown,
        refused + "{ req.ver 2.0 } { req.body_size gt 0 } " + unknown);
  }

  /** What clients see when nobody can serve them. */
  static List<String> page(Path directory, IngressEndpoint endpoint) {
    return endpoint.route().policy().maintenancePage().stream()
        .map(
            page ->
                "  http-error status 503 content-type \"%s\" file %s hdr Retry-After 10 hdr Cache-Control no-store"
                    .formatted(type(page), directory.resolve(file(endpoint))))
        .toList();
  }

  /** The same as the end of a rule that returns it. */
  static Optional<String> content(Path directory, IngressEndpoint endpoint) {
    return endpoint
        .route()
        .policy()
        .maintenancePage()
        .map(
            page ->
                "content-type \"%s\" file %s"
                    .formatted(type(page), directory.resolve(file(endpoint))));
  }

  private static String type(String page) {
    return page.strip().startsWith("<") ? "text/html; charset=utf-8" : "text/plain; charset=utf-8";
  }

  private static String file(IngressEndpoint endpoint) {
    var sum = new CRC32C();
    sum.update(endpoint.backend().getBytes(StandardCharsets.UTF_8));
    String plain = endpoint.backend().replaceAll("[^A-Za-z0-9_-]", "-");
    return "page-%s-%s"
        .formatted(
            plain.substring(0, Math.min(plain.length(), NAME_BYTES)),
            HexFormat.of().toHexDigits((int) sum.getValue()));
  }

  /** The pages of endpoints, by file. */
  static Map<String, String> files(Collection<IngressEndpoint> endpoints) {
    var files = new TreeMap<String, String>();
    for (IngressEndpoint endpoint : endpoints) {
      endpoint
          .route()
          .policy()
          .maintenancePage()
          .ifPresent(page -> files.put(file(endpoint), page));
    }
    return files;
  }

  /** What is added to each server. */
  static String server(RoutePolicy policy) {
    String proxy =
        policy
            .sendProxy()
            .map(one -> one == RoutePolicy.ProxyVersion.V1 ? " send-proxy" : " send-proxy-v2")
            .orElse("");
    boolean http2 =
        policy.replicaProtocol().filter(RoutePolicy.ReplicaProtocol.HTTP2::equals).isPresent();
    return proxy + (http2 ? " proto h2" : "");
  }

  /** All that is decided before a request is changed. */
  static List<String> all(Path directory, IngressEndpoint endpoint) {
    var lines = new ArrayList<>(authentication(directory, endpoint));
    lines.addAll(body(endpoint.route().policy()));
    return lines;
  }
}
