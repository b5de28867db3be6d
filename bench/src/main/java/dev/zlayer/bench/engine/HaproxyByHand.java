package dev.zlayer.bench.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/**
 * HAProxy as an operator would configure it, in front of one server.
 *
 * @param names the hosts
 * @param origin the port of the server
 */
record HaproxyByHand(Path directory, List<String> names, int origin) {
  /** What all requests are promised: to be sent again before the first byte, and not for long. */
  private static final String PROMISES =
      """
        retry-on conn-failure empty-response
        timeout queue 30s
        timeout http-request 10s
        timeout http-keep-alive 60s
      """;

  /**
   * What an operator writes for what our ingress promises of each request: replicas learn from
   * headers that clients cannot forge who asked for what, the id of a request is told to both
   * sides, what may not be repeated is not, and the log has the same fields about clients. It has
   * nothing for what only ours has: paths compared as servers read them, and services that can be
   * paused.
   */
  private static final String PROMISED =
      """
        capture request header Host len 100
        capture request header User-Agent len 128
        capture request header Referer len 128
        http-request del-header X-Request-Id
        http-request del-header X-Real-IP
        http-request set-header X-Forwarded-For %[src]
        http-request set-header X-Forwarded-Proto %[ssl_fc,iif(https,http)]
        http-request set-header X-Forwarded-Host %[req.hdr(host)]
        http-request set-header X-Forwarded-Port %[dst_port]
        http-request set-header Forwarded for=%[src];proto=%[ssl_fc,iif(https,http)]
        http-request disable-l7-retry if { method POST PATCH }
        http-after-response set-header X-Request-Id %[unique-id]
      """;

  /** The least that replicas need to know; what clients forge is passed on. */
  private static final String PLAIN =
      """
        http-request set-header X-Forwarded-Proto http
        http-request set-header X-Forwarded-Host %[req.hdr(host)]
      """;

  /** For the same promises as ours. */
  String promising(int port) throws IOException {
    return text(port, PROMISES, PROMISED);
  }

  /** For as little as possible. */
  String brief(int port) throws IOException {
    return text(port, "  option forwardfor\n", PLAIN);
  }

  /** Its log goes to a file at once, which costs less than what a service manager would offer. */
  private String text(int port, String defaults, String rules) throws IOException {
    Path map =
        Files.writeString(
            directory.resolve("hosts.map"),
            names.stream().map(name -> name + " " + name + "\n").collect(Collectors.joining()));
    return """
    global
      stats socket %1$s mode 600 level admin
      log stdout format raw local0
    defaults
      mode http
      log global
      option httplog
      unique-id-format %%{+X}o\\ %%ci:%%cp_%%fi:%%fp_%%Ts_%%rt:%%pid
      unique-id-header X-Request-Id
      timeout connect 5s
      timeout client 60s
      timeout server 60s
    %5$sfrontend http
      bind 127.0.0.1:%7$d
      bind 127.0.0.1:%8$d ssl crt %2$s alpn h2,http/1.1 ssl-min-ver TLSv1.2
    %6$s  use_backend %%[req.hdr(host),host_only,lower,map_str(%3$s,tls)]
    frontend metrics
      bind 127.0.0.1:%9$d
      no log
      http-request use-service prometheus-exporter if { path /metrics }
    backend tls
      server s1 127.0.0.1:%4$d
    """
            .formatted(
                directory.resolve(port + ".sock"),
                directory.resolve("both.pem"),
                map,
                origin,
                defaults,
                rules,
                port,
                port + 400,
                port + 100)
        + names.stream()
            .map(name -> "backend %s\n  server s1 127.0.0.1:%d\n".formatted(name, origin))
            .collect(Collectors.joining());
  }
}
