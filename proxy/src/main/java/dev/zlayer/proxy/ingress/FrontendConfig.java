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
 * @param rules further ones, for requests whose path has an unusual sign, such as a dot at the
 *     begin of a name
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
        : List.of(new FrontendConfig(config, Protocol.HTTPS, encrypted, bind, ""));
  }

  /** How clients are decrypted. */
  static String tls(Path directory) {
    return "ssl crt-list %s strict-sni ssl-min-ver TLSv1.2 ciphers %s curves %s"
        .formatted(directory.resolve(IngressCertificates.LIST), CIPHERS, CURVES);
  }

  /** The host without its port and the dot that may be behind it. */
  private static final String HOST =
      """
        http-request set-var(txn.host) req.fhdr(host),host_only,lower
        http-request set-var(txn.host) var(txn.host),regsub([.]$,) if { var(txn.host) -m end . }
      """;

  private static final String SHOWN =
      """
        tcp-request session set-var(sess.sni) ssl_fc_sni,lower,regsub([.]$,)
      """;

  /** A host is only served to those who were shown its certificate. */
  private static final String MISDIRECTED =
      """
        http-request return status 421 content-type text/plain string "this connection is for another host\\n" unless { var(sess.sni),strcmp(txn.host) eq 0 }
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
   * What clients claim about themselves is removed before the same is added. A host that has but
   * one endpoint is found at once; for all others a path is compared as servers will read it:
   * decoded, without double slashes and parameters. What can be read in two ways is refused where
   * it could pass by a rule. A host becomes part of redirects, so one that is no name is refused,
   * too, even where a wildcard would fit its end. Expressions are only applied where they can
   * change something, and once for a connection where they say the same of all its requests: each
   * costs every request.
   */
  String text() {
    return """

    frontend %1$s
      bind %2$s
      tcp-request session set-var-fmt(sess.forwarded) for=%%[src];proto=%1$s
      tcp-request session set-var-fmt(sess.forwarded) for=\\"[%%[src]]\\";proto=%1$s if { src -m sub : }
    %12$s%3$s  unique-id-format %%[uuid]
      unique-id-header X-Request-Id
      http-after-response set-header X-Request-Id %%[unique-id]
      http-request del-header ^(x[-_](forwarded[-_].*|real[-_]ip|request[-_]id)|forwarded|proxy)$ -m reg
      http-request add-header X-Forwarded-For %%[src]
      http-request add-header X-Forwarded-Proto %1$s
      http-request add-header X-Forwarded-Host %%[req.fhdr(host)]
      http-request add-header X-Forwarded-Port %%[dst_port]
      http-request add-header Forwarded %%[var(sess.forwarded)]
    %4$s  http-request set-var(txn.backend) req.fhdr(host),host_only,lower,map_str(%5$s)
      http-request allow if { var(txn.backend) -m found } !{ path -m reg %%|;|//|/[.] }
    %11$s  http-request deny deny_status 400 if { req.fhdr(host) -m reg [^][A-Za-z0-9._:-] }
    %6$s  http-request set-var(txn.path) path
      http-request set-var(txn.path) path,url_dec,regsub(;[^/]*,,g),regsub(//+,/,g) if { path -m sub %% ; // }
      http-request deny deny_status 400 if { var(txn.path) -m sub . } { var(txn.path) -m reg (^|/)[.][.]?(/|$) }
      http-request set-var(txn.site) var(txn.host),map_str(%7$s)
      http-request set-var(txn.site) var(txn.host),map_end(%8$s) if !{ var(txn.site) -m found }
      http-request set-var(txn.site) str(*) if !{ var(txn.site) -m found }
      http-request deny deny_status 400 if { path -m sub -i %%2f %%5c %%00 \\\\ } { var(txn.site),map_str(%9$s) -m found }
      http-request set-var(txn.backend) var(txn.site),concat(,txn.path,/),map_beg(%10$s)
      use_backend %%[var(txn.backend)] if { var(txn.backend) -m found }
      default_backend none
    """
        .formatted(
            protocol.word,
            bind,
            AccessLogRules.frontend(),
            protocol == Protocol.HTTPS ? HOST + MISDIRECTED : "",
            map("direct"),
            rules,
            map("hosts"),
            map("wildcards"),
            map("strict"),
            map("routes"),
            protocol == Protocol.HTTPS ? "" : HOST,
            protocol == Protocol.HTTPS ? SHOWN : "");
  }

  private Path map(String name) {
    return config.directory().resolve(name + protocol.suffix + ".map");
  }

  /** Two sockets, since one for both would show the addresses of IPv4 as those of IPv6. */
  static String address(IngressConfig config, String address) {
    return address.startsWith(":") && config.ipv6()
        ? "%1$s,::%1$s v6only".formatted(address)
        : address;
  }

  /**
   * Load balancers say who their client is; others who try it send something that is no request.
   */
  static String proxies(IngressConfig config) {
    return config.proxies().isEmpty()
        ? ""
        : "\n%s\n  tcp-request connection expect-proxy layer4 if proxies"
            .formatted(String.join("\n", HaproxyConfig.sources("proxies", config.proxies())));
  }

  /** Where requests without a fitting endpoint go, and those that have to come back with TLS. */
  static String others(IngressConfig config) {
    int port = Integer.parseInt(config.https().substring(config.https().lastIndexOf(':') + 1));
    return """

    backend none
      http-request return status 404 content-type text/plain string "no service has this host and path\\n"

    backend %s
      http-request set-var(txn.host) req.fhdr(host),host_only,lower if !{ var(txn.host) -m found }
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
    var direct = new TreeMap<String, String>();
    for (IngressEndpoint endpoint : endpoints) {
      for (String host : endpoint.route().hosts()) {
        if (host.startsWith("*.")) {
          wildcards.add(host);
        } else if (!host.equals(HostNames.ANY)) {
          hosts.add(host);
        }
        if (!endpoint.route().prefix().isEmpty()) {
          strict.add(host);
        } else {
          direct.put(host, backend(endpoint));
        }
      }
      endpoint.routes().forEach(route -> routes.put(route, backend(endpoint)));
    }
    direct.keySet().removeAll(strict);
    direct.keySet().retainAll(hosts);
    var files = new LinkedHashMap<String, String>();
    files.put(name("direct"), entries(direct));
    files.put(name("hosts"), lines(hosts.stream().map(host -> host + " " + host).toList()));
    files.put(
        name("wildcards"),
        lines(wildcards.stream().map(host -> host.substring(1) + " " + host).toList()));
    files.put(name("routes"), entries(routes));
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

  private static String entries(Map<String, String> entries) {
    return lines(
        entries.entrySet().stream().map(one -> one.getKey() + " " + one.getValue()).toList());
  }

  private static String lines(List<String> lines) {
    return lines.stream().map(line -> line + "\n").collect(Collectors.joining());
  }
}
