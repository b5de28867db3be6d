package dev.zlayer.proxy.ingress;

import dev.zlayer.spec.value.HostNames;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The part of HAProxy's configuration that accepts requests on one port and finds their endpoint.
 * Pure.
 *
 * @param endpoints those that it serves
 * @param bind where it listens
 * @param rules further ones, for requests whose host is known
 */
record FrontendConfig(
    IngressConfig config,
    Protocol protocol,
    List<IngressEndpoint> endpoints,
    String bind,
    String rules) {
  private static final String REDIRECT = "redirect";
  private static final int HTTPS_PORT = 443;

  /** As browsers of the last years have them; what an older client needs is not offered. */
  private static final String CIPHERS =
      "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
          + "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

  private static final String CURVES = "X25519:P-256:P-384";

  /** What is spoken on a port. */
  enum Protocol {
    HTTP("http", ""),
    HTTPS("https", "-https");

    private final String word;
    private final String suffix;

    Protocol(String word, String suffix) {
      this.word = word;
      this.suffix = suffix;
    }
  }

  /** Every endpoint with requests, those with TLS to answer challenges and to redirect. */
  static FrontendConfig http(IngressConfig config, List<IngressEndpoint> endpoints) {
    boolean encrypted = endpoints.stream().anyMatch(IngressEndpoint::encrypted);
    return new FrontendConfig(
        config,
        Protocol.HTTP,
        endpoints.stream().filter(one -> !one.stream()).toList(),
        address(config, config.http()) + proxies(config),
        encrypted ? challenges(config.directory()) : "");
  }

  /** Those with TLS, on a port or behind one; there is none while no endpoint has it. */
  static List<FrontendConfig> https(
      IngressConfig config, List<IngressEndpoint> endpoints, Optional<String> behind) {
    List<IngressEndpoint> encrypted = endpoints.stream().filter(IngressEndpoint::https).toList();
    String bind =
        "%s %s alpn h2,http/1.1%s"
            .formatted(
                behind.orElseGet(() -> address(config, config.https())),
                tls(config.directory()),
                behind.isPresent() ? "" : proxies(config));
    return encrypted.isEmpty()
        ? List.of()
        : List.of(new FrontendConfig(config, Protocol.HTTPS, encrypted, bind, MISDIRECTED));
  }

  /** How clients are decrypted. */
  static String tls(Path directory) {
    return "ssl crt-list %s strict-sni ssl-min-ver TLSv1.2 ciphers %s curves %s"
        .formatted(directory.resolve(IngressCertificates.LIST), CIPHERS, CURVES);
  }

  /** A host is only served to those who were shown its certificate. */
  private static final String MISDIRECTED =
      """
        http-request set-var(txn.sni) ssl_fc_sni,lower,regsub([.]$,)
        http-request return status 421 content-type text/plain string "this connection is for another host\\n" unless { var(txn.sni),strcmp(txn.host) eq 0 }
      """;

  /** Authorities ask without TLS, for every host, before the host has a certificate. */
  private static String challenges(Path directory) {
    return """
      http-request set-var(txn.challenge) path,regsub(^/[.]well-known/acme-challenge/,),map_str(%s) if { path_beg /.well-known/acme-challenge/ }
      http-request return status 200 content-type text/plain lf-string %%[var(txn.challenge)] if { var(txn.challenge) -m found }
    """
        .formatted(directory.resolve(IngressCertificates.CHALLENGES));
  }

  /**
   * A path is compared as servers will read it: decoded, without double slashes and parameters.
   * What can be read in two ways is refused where it could pass by a rule. A host becomes part of
   * redirects, so one that is no name is refused, too, even where a wildcard would fit its end.
   * Expressions are only applied where they can change something: each costs every request.
   */
  String text() {
    return """

    frontend %1$s
      bind %2$s
    %9$s  http-request deny deny_status 400 if { req.hdr(host) -m reg [^][A-Za-z0-9._:-] }
      http-request set-var(txn.host) req.hdr(host),host_only,lower
      http-request set-var(txn.host) var(txn.host),regsub([.]$,) if { var(txn.host) -m end . }
    %3$s  http-request set-var(txn.path) path
      http-request set-var(txn.path) path,url_dec,regsub(;[^/]*,,g),regsub(//+,/,g) if { path -m sub %% ; // }
      http-request deny deny_status 400 if { var(txn.path) -m sub . } { var(txn.path) -m reg (^|/)[.][.]?(/|$) }
      http-request set-var(txn.site) var(txn.host),map_str(%4$s)
      http-request set-var(txn.site) var(txn.host),map_end(%5$s) if !{ var(txn.site) -m found }
      http-request set-var(txn.site) str(*) if !{ var(txn.site) -m found }
      http-request deny deny_status 400 if { path -m sub -i %%2f %%5c %%00 \\\\ } { var(txn.site),map_str(%6$s) -m found }
      http-request set-var(txn.backend) var(txn.site),concat(,txn.path,/),map_beg(%7$s)
      http-request set-var(txn.id) uuid()
      http-request set-header X-Request-Id %%[var(txn.id)]
      http-after-response set-header X-Request-Id %%[var(txn.id)]
      http-request del-header ^(x[-_]forwarded[-_].*|x[-_]real[-_]ip|forwarded|proxy)$ -m reg
      http-request set-header X-Forwarded-For %%[src]
      http-request set-header X-Forwarded-Proto %1$s
      http-request set-header X-Forwarded-Host %%[req.hdr(host)]
      http-request set-header X-Forwarded-Port %%[dst_port]
      http-request set-header Forwarded for=%%[src];proto=%1$s
      http-request set-header Forwarded for=\\"[%%[src]]\\";proto=%1$s if { src -m sub : }
    %8$s  use_backend %%[var(txn.backend)] if { var(txn.backend) -m found }
      default_backend none
    """
        .formatted(
            protocol.word,
            bind,
            rules,
            map("hosts"),
            map("wildcards"),
            map("strict"),
            map("routes"),
            ModeRules.frontend(config.directory()),
            AccessLogRules.frontend());
  }

  private Path map(String name) {
    return config.directory().resolve(name + protocol.suffix + ".map");
  }

  static String address(IngressConfig config, String address) {
    return address.startsWith(":") && config.ipv6() ? "::" + address + " v4v6" : address;
  }

  /**
   * Load balancers say who their client is; others who try it send something that is no request.
   */
  static String proxies(IngressConfig config) {
    return config.proxies().isEmpty()
        ? ""
        : "\n  tcp-request connection expect-proxy layer4 if { src %s }"
            .formatted(HaproxyConfig.ranges(config.proxies()));
  }

  /** Where requests without a fitting endpoint go, and those that have to come back with TLS. */
  static String others(IngressConfig config) {
    int port = Integer.parseInt(config.https().substring(config.https().lastIndexOf(':') + 1));
    return """

    backend none
      http-request return status 404 content-type text/plain string "no service has this host and path\\n"

    backend %s
      http-request redirect location https://%%[var(txn.host)]%s%%[pathq] code 308
    """
        .formatted(REDIRECT, port == HTTPS_PORT ? "" : ":" + port);
  }

  /** The maps that it reads. */
  Map<String, String> files() {
    var hosts = new TreeSet<String>();
    var wildcards =
        new TreeSet<>(
            Comparator.comparingInt(String::length)
                .reversed()
                .thenComparing(Comparator.naturalOrder()));
    var routes = new TreeMap<String, String>();
    var strict = new TreeSet<String>();
    for (IngressEndpoint endpoint : endpoints) {
      for (String host : endpoint.route().hosts()) {
        if (host.startsWith("*.")) {
          wildcards.add(host);
        } else if (!host.equals(HostNames.ANY)) {
          hosts.add(host);
        }
        if (!endpoint.route().prefix().isEmpty()) {
          strict.add(host);
        }
      }
      endpoint.routes().forEach(route -> routes.put(route, backend(endpoint)));
    }
    var files = new LinkedHashMap<String, String>();
    files.put(name("hosts"), lines(hosts.stream().map(host -> host + " " + host).toList()));
    files.put(
        name("wildcards"),
        lines(wildcards.stream().map(host -> host.substring(1) + " " + host).toList()));
    files.put(
        name("routes"),
        lines(routes.entrySet().stream().map(one -> one.getKey() + " " + one.getValue()).toList()));
    files.put(name("strict"), lines(strict.stream().map(host -> host + " 1").toList()));
    return files;
  }

  private String backend(IngressEndpoint endpoint) {
    boolean redirected =
        protocol == Protocol.HTTP
            && endpoint.encrypted()
            && endpoint.route().encryption().redirectHttp();
    return redirected ? REDIRECT : endpoint.backend();
  }

  private String name(String map) {
    return String.valueOf(map(map).getFileName());
  }

  private static String lines(List<String> lines) {
    return lines.stream().map(line -> line + "\n").collect(Collectors.joining());
  }
}
