package dev.zlayer.proxy.ingress;

import dev.zlayer.spec.network.RouteSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The part of HAProxy's configuration for connections with TLS in which something else than HTTP is
 * spoken. The name that a client asks for is read before anything is decrypted: connections are
 * then passed to the container as they are, or, through a socket that only HAProxy's account can
 * use, to the frontend that decrypts them. While there is no such endpoint, HTTPS has the port for
 * itself and no connection takes that way. Pure.
 *
 * @param endpoints all that are served
 */
record StreamConfig(
    IngressConfig config, Optional<String> account, List<IngressEndpoint> endpoints) {
  private static final String TO_HTTPS = "to-https";
  private static final String TO_STREAMS = "to-streams";
  private static final String NAMES = "names.map";
  private static final String WILDCARDS = "names-wildcards.map";
  private static final String STREAMS = "streams.map";
  private static final String STREAM_WILDCARDS = "streams-wildcards.map";
  private static final String HTTPS_SOCKET = "h";
  private static final String STREAM_SOCKET = "s";

  /** Longer than any time limit of an endpoint: that one decides. */
  private static final Duration LONGEST = Duration.ofHours(25);

  /** Longer than an operator can pause a service, in addition to {@code hold}. */
  private static final Duration LONGEST_PAUSE = Duration.ofMinutes(11);

  StreamConfig {
    endpoints = List.copyOf(endpoints);
  }

  private boolean present() {
    return endpoints.stream().anyMatch(IngressEndpoint::stream);
  }

  /** Where the frontend for HTTPS listens, unless it has the port. */
  Optional<String> https() {
    return present() ? Optional.of(internal(HTTPS_SOCKET)) : Optional.empty();
  }

  /** A listener of HAProxy for itself, which says who the client is. */
  private String internal(String name) {
    return "unix@%s mode 600%s accept-proxy"
        .formatted(
            config.directory().resolve(HaproxyConfig.CHROOT).resolve(name),
            account.map(" user "::concat).orElse(""));
  }

  /** The same place for a worker, which has another root directory. */
  private String connect(String name) {
    Path directory = config.directory().resolve(HaproxyConfig.CHROOT);
    return account.isPresent() ? "unix@/" + name : "unix@" + directory.resolve(name);
  }

  /** Frontends and internal backends. What does not begin as TLS does is refused at once. */
  String text() {
    if (!present()) {
      return "";
    }
    boolean https = endpoints.stream().anyMatch(IngressEndpoint::https);
    return """

    frontend tls
      mode tcp
      bind %1$s
    %2$s  tcp-request inspect-delay 5s
      tcp-request content reject if { req.len gt 0 } !{ req.payload(0,1),hex -m str 16 }
      tcp-request content reject if !{ req.ssl_hello_type 1 } WAIT_END
      tcp-request content set-var(sess.name) req.ssl_sni,lower,regsub([.]$,) if { req.ssl_hello_type 1 }
    %3$s  tcp-request content set-log-level silent unless { var(txn.backend) -m sub : }
      use_backend %%[var(txn.backend)] if { var(txn.backend) -m found }
      default_backend %4$s
    """
            .formatted(
                FrontendConfig.address(config, config.https()) + FrontendConfig.proxies(config),
                AccessLogRules.stream(),
                lookup(NAMES, WILDCARDS),
                https || decrypted().isEmpty() ? TO_HTTPS : TO_STREAMS)
        + (https ? forward(TO_HTTPS, HTTPS_SOCKET) : refuse(TO_HTTPS))
        + decryption();
  }

  private String lookup(String names, String wildcards) {
    return AccessLogRules.streamName()
        + """
          tcp-request content set-var(txn.backend) var(sess.name),map_str(%s)
          tcp-request content set-var(txn.backend) var(sess.name),map_end(%s) if !{ var(txn.backend) -m found }
        """
            .formatted(config.directory().resolve(names), config.directory().resolve(wildcards));
  }

  /** Decrypts what is neither passed through nor HTTP, which unknown names never are. */
  private String decryption() {
    if (decrypted().isEmpty()) {
      return "";
    }
    return """

    frontend streams
      mode tcp
      bind %s %s
    %s  tcp-request content set-var(sess.name) ssl_fc_sni,lower,regsub([.]$,)
    %s  tcp-request content reject unless { var(txn.backend) -m found }
      use_backend %%[var(txn.backend)]
    """
            .formatted(
                internal(STREAM_SOCKET),
                FrontendConfig.tls(config.directory()),
                AccessLogRules.stream(),
                lookup(STREAMS, STREAM_WILDCARDS))
        + forward(TO_STREAMS, STREAM_SOCKET);
  }

  private String forward(String backend, String socket) {
    return """

    backend %s
      mode tcp
      timeout tunnel %dms
      server s %s send-proxy-v2
    """
        .formatted(backend, LONGEST.toMillis(), connect(socket));
  }

  private static String refuse(String backend) {
    return """

    backend %s
      mode tcp
      tcp-request content reject
    """
        .formatted(backend);
  }

  private List<IngressEndpoint> decrypted() {
    return endpoints.stream().filter(one -> one.stream() && one.encrypted()).toList();
  }

  /** An exact name before the longest wildcard, whoever has them. */
  Map<String, String> files() {
    if (!present()) {
      return Map.of();
    }
    var names = new TreeMap<String, String>();
    for (IngressEndpoint endpoint : endpoints) {
      String backend =
          !endpoint.stream() ? TO_HTTPS : endpoint.encrypted() ? TO_STREAMS : endpoint.backend();
      endpoint.tlsHosts().forEach(host -> names.put(host, backend));
    }
    var streams = new TreeMap<String, String>();
    decrypted()
        .forEach(
            endpoint -> endpoint.tlsHosts().forEach(host -> streams.put(host, endpoint.backend())));
    var files = new LinkedHashMap<String, String>();
    files.put(NAMES, exact(names));
    files.put(WILDCARDS, wildcards(names));
    files.put(STREAMS, exact(streams));
    files.put(STREAM_WILDCARDS, wildcards(streams));
    return files;
  }

  private static String exact(Map<String, String> names) {
    return names.entrySet().stream()
        .filter(one -> !one.getKey().startsWith("*."))
        .map(one -> one.getKey() + " " + one.getValue() + "\n")
        .collect(Collectors.joining());
  }

  private static String wildcards(Map<String, String> names) {
    return names.entrySet().stream()
        .filter(one -> one.getKey().startsWith("*."))
        .sorted(
            Comparator.comparingInt((Map.Entry<String, String> one) -> one.getKey().length())
                .reversed()
                .thenComparing(Map.Entry.comparingByKey()))
        .map(one -> one.getKey().substring(1) + " " + one.getValue() + "\n")
        .collect(Collectors.joining());
  }

  /** The backend of an endpoint, without its servers. */
  static String backend(IngressConfig config, IngressEndpoint endpoint) {
    RouteSpec route = endpoint.route();
    var lines = new ArrayList<String>();
    lines.add("");
    lines.add("backend " + endpoint.backend());
    lines.add("  mode tcp");
    lines.add(HaproxyConfig.balance(route));
    lines.addAll(HaproxyConfig.clients(route, "tcp-request content reject"));
    Duration longest = LONGEST_PAUSE.plus(route.hold().orElse(Duration.ZERO));
    lines.add("  tcp-request inspect-delay %dms".formatted(longest.toMillis()));
    lines.addAll(ModeRules.streamBackend(config.directory(), endpoint.backend()));
    route
        .hold()
        .ifPresent(
            hold ->
                lines.add(
                    "  tcp-request content lua.hold %d if { nbsrv lt 1 }"
                        .formatted(hold.toMillis())));
    lines.add("  retries " + route.retries());
    route
        .timeouts()
        .ifPresent(
            limits -> {
              limits
                  .connect()
                  .ifPresent(limit -> lines.add(HaproxyConfig.timeout("connect", limit)));
              limits.tunnel().ifPresent(limit -> lines.add(HaproxyConfig.timeout("tunnel", limit)));
            });
    return String.join("\n", lines) + "\n";
  }
}
