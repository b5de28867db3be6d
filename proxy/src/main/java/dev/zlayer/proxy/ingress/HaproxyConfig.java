package dev.zlayer.proxy.ingress;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.network.RouteSpec;
import dev.zlayer.spec.value.AddressRange;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What HAProxy is configured with. Pure.
 *
 * @param text the configuration file
 * @param files the files that it names
 * @param fingerprint of everything but the servers: what needs a reload when it changes
 */
record HaproxyConfig(String text, Map<String, String> files, String fingerprint) {
  static final String WORKER_SOCKET = "w";
  static final String CHROOT = "empty";
  private static final String LUA = "hold.lua";
  private static final int FINGERPRINT_BYTES = 8;
  private static final int MOST_RANGES = 50;

  /** HAProxy has no queue for a backend without servers: the request waits before it is placed. */
  private static final String HOLD =
      """
      core.register_action("hold", {"http-req", "tcp-req"}, function(txn, milliseconds)
        local left = tonumber(milliseconds)
        while left > 0 and txn.f:nbsrv() < 1 do
          core.msleep(20)
          left = left - 20
        end
      end, 1)
      """;

  HaproxyConfig {
    files = Map.copyOf(files);
  }

  /**
   * {@code user} is the account that serves requests, when this one may change it; {@code maps} are
   * changed without a reload.
   */
  static HaproxyConfig of(
      IngressConfig config,
      Optional<String> user,
      Collection<IngressEndpoint> endpoints,
      Map<String, Map<String, String>> maps) {
    List<IngressEndpoint> sorted =
        endpoints.stream().sorted(Comparator.comparing(IngressEndpoint::backend)).toList();
    var frontends = new ArrayList<FrontendConfig>();
    var streams = new StreamConfig(config, user, sorted);
    frontends.add(FrontendConfig.http(config, sorted));
    frontends.addAll(FrontendConfig.https(config, sorted, streams.https()));
    var files = new LinkedHashMap<>(streams.files());
    frontends.forEach(frontend -> files.putAll(frontend.files()));
    files.put(LUA, HOLD);
    files.put(ModeRules.LUA, ModeRules.lua(config.directory()));
    files.putAll(PolicyRules.files(sorted));
    String accepting =
        frontends.stream().map(FrontendConfig::text).collect(Collectors.joining())
            + FrontendConfig.others(config)
            + streams.text();
    var fixed = new StringBuilder(accepting);
    sorted.forEach(endpoint -> fixed.append(backend(config, endpoint)).append(slots(endpoint)));
    String fingerprint = hash(global(config, user, "") + fixed + new TreeMap<>(files));
    maps.forEach((name, entries) -> files.put(name, ModeRules.text(entries)));
    var text = new StringBuilder(global(config, user, fingerprint)).append(accepting);
    sorted.forEach(endpoint -> text.append(backend(config, endpoint)).append(servers(endpoint)));
    return new HaproxyConfig(text.toString(), files, fingerprint);
  }

  private static String global(IngressConfig config, Optional<String> user, String fingerprint) {
    Path directory = config.directory();
    String account =
        user.map(
                name ->
                    """
                      user %1$s
                      group %1$s
                      chroot %2$s
                    """
                        .formatted(name, directory.resolve(CHROOT)))
            .orElse("");
    return """
    global
      description %s
    %s  stats socket %s mode 600 level admin expose-fd listeners
      stats timeout 1m
      tune.http.logurilen %s
      hard-stop-after 1h
      lua-load-per-thread %s
      lua-load-per-thread %s
      log stdout format raw local0 warning

    defaults
      mode http
      log global
      timeout connect 5s
      timeout client 60s
      timeout server 60s
      timeout queue 30s
      timeout tunnel 1h
      timeout client-fin 30s
      timeout http-request 10s
      timeout http-keep-alive 60s
      option redispatch 1
      option idle-close-on-response
      default-server pool-purge-delay 1s
    """
        .formatted(
            fingerprint,
            account,
            directory.resolve(WORKER_SOCKET),
            AccessLogRules.LONGEST_REQUEST,
            directory.resolve(LUA),
            directory.resolve(ModeRules.LUA));
  }

  private static String backend(IngressConfig config, IngressEndpoint endpoint) {
    if (endpoint.stream()) {
      return StreamConfig.backend(config, endpoint);
    }
    RouteSpec route = endpoint.route();
    var lines = new ArrayList<String>();
    lines.add("");
    lines.add("backend " + endpoint.backend());
    lines.add(balance(route));
    if (route.sticky()) {
      boolean secure = endpoint.encrypted() && route.encryption().redirectHttp();
      lines.add("  cookie ZLAYER insert indirect nocache httponly" + (secure ? " secure" : ""));
    }
    route
        .encryption()
        .hsts()
        .ifPresent(
            time ->
                lines.add(
                    "  http-after-response set-header Strict-Transport-Security max-age=%d if { ssl_fc }"
                        .formatted(time.toSeconds())));
    lines.addAll(clients(route, "http-request deny"));
    if (route.rateLimit() > 0) {
      lines.add("  stick-table type ipv6 size 100k expire 10s store http_req_rate(1s)");
      lines.add("  http-request track-sc1 src");
      lines.add(
          "  http-request deny deny_status 429 if { sc_http_req_rate(1) gt %d }"
              .formatted(route.rateLimit()));
    }
    lines.addAll(PolicyRules.all(config.directory(), endpoint));
    lines.addAll(PolicyRules.page(config.directory(), endpoint));
    if (route.stripPrefix()) {
      String prefix = route.prefix().replace(".", "[.]").replace("+", "[+]");
      lines.add(
          "  http-request deny deny_status 400 unless { path -m reg ^%s(/|$) }".formatted(prefix));
      lines.add("  http-request set-header X-Forwarded-Prefix " + route.prefix());
      lines.add("  http-request replace-path ^%s/?(.*)$ /\\1".formatted(prefix));
    }
    lines.addAll(
        ModeRules.backend(config.directory(), PolicyRules.content(config.directory(), endpoint)));
    route
        .hold()
        .ifPresent(
            hold ->
                lines.add(
                    "  http-request lua.hold %d if { nbsrv lt 1 }".formatted(hold.toMillis())));
    lines.add("  retries " + route.retries());
    lines.add(route.retries() == 0 ? "  retry-on none" : "  retry-on conn-failure empty-response");
    lines.add(
        "  http-request disable-l7-retry unless { method GET HEAD OPTIONS PUT DELETE TRACE }");
    route
        .timeouts()
        .ifPresent(
            limits -> {
              limits.connect().ifPresent(limit -> lines.add(timeout("connect", limit)));
              limits.response().ifPresent(limit -> lines.add(timeout("server", limit)));
              limits.tunnel().ifPresent(limit -> lines.add(timeout("tunnel", limit)));
            });
    if (route.compress()) {
      lines.add("  compression algo gzip");
      lines.add(
          "  compression type text/html text/plain text/css text/xml text/javascript"
              + " application/javascript application/json application/xml image/svg+xml");
    }
    route
        .headers()
        .ifPresent(
            headers -> {
              headers.request().forEach((name, value) -> lines.add(header("request", name, value)));
              headers
                  .response()
                  .forEach((name, value) -> lines.add(header("response", name, value)));
            });
    return String.join("\n", lines) + "\n";
  }

  static String balance(RouteSpec route) {
    return switch (route.balance()) {
      case ROUND_ROBIN -> "  balance roundrobin";
      case LEAST_CONNECTIONS -> "  balance leastconn";
      case CLIENT_ADDRESS -> "  balance source\n  hash-type consistent";
    };
  }

  /** The value is a format of HAProxy within quotes; what would end those was refused before. */
  private static String header(String of, String name, String value) {
    return "  http-%s set-header %s '%s'".formatted(of, name, value.replace("%", "%%"));
  }

  static String timeout(String of, Duration limit) {
    return "  timeout %s %dms".formatted(of, limit.toMillis());
  }

  /** Who else is refused, and how. */
  static List<String> clients(RouteSpec route, String refuse) {
    var lines = new ArrayList<String>();
    if (!route.allow().isEmpty()) {
      lines.addAll(sources("allowed", route.allow()));
      lines.add("  %s unless allowed".formatted(refuse));
    }
    if (!route.deny().isEmpty()) {
      lines.addAll(sources("denied", route.deny()));
      lines.add("  %s if denied".formatted(refuse));
    }
    return lines;
  }

  /** A name for clients with these addresses; a line of HAProxy has 64 words at most. */
  static List<String> sources(String name, List<AddressRange> ranges) {
    var lines = new ArrayList<String>();
    for (int from = 0; from < ranges.size(); from += MOST_RANGES) {
      String some =
          ranges.subList(from, Math.min(ranges.size(), from + MOST_RANGES)).stream()
              .map(AddressRange::toString)
              .collect(Collectors.joining(" "));
      lines.add("  acl %s src %s".formatted(name, some));
    }
    return lines;
  }

  private static String slots(IngressEndpoint endpoint) {
    return "%d servers%s"
        .formatted(endpoint.slots(), PolicyRules.server(endpoint.route().policy()));
  }

  private static String servers(IngressEndpoint endpoint) {
    var lines = new StringBuilder();
    for (int slot = 1; slot <= endpoint.slots(); slot++) {
      Optional<IngressEndpoint.Server> server = endpoint.server(slot);
      lines.append(
          "  server s%d %s:%d weight %d%s%s%s\n"
              .formatted(
                  slot,
                  server.map(one -> one.address().getHostAddress()).orElse("127.0.0.1"),
                  server.isPresent() ? endpoint.port() : 1,
                  server.map(IngressEndpoint.Server::weight).orElse(1),
                  endpoint.route().sticky() ? " cookie s" + slot : "",
                  PolicyRules.server(endpoint.route().policy()),
                  server.map(IngressEndpoint.Server::ready).orElse(false) ? "" : " disabled"));
    }
    return lines.toString();
  }

  private static String hash(String text) {
    try {
      byte[] hash =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(hash, 0, FINGERPRINT_BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new AgentException.Internal("this JDK has no SHA-256", e);
    }
  }
}
