package dev.zlayer.bench.engine;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.port.Rotation;
import dev.zlayer.proxy.ingress.Ingress;
import dev.zlayer.proxy.ingress.IngressConfig;
import dev.zlayer.proxy.tls.CertificateStatus;
import dev.zlayer.proxy.tls.Certificates;
import dev.zlayer.proxy.tls.HostTls;
import dev.zlayer.proxy.tls.PemPair;
import dev.zlayer.spec.network.EncryptionSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.Exposure;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.spec.network.RoutePolicy;
import dev.zlayer.spec.network.RouteSpec;
import dev.zlayer.spec.network.TlsSpec;
import dev.zlayer.spec.value.HostNames;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Our ingress and other proxies, with the same hosts, in front of a server that answers with a
 * word. HAProxy serves also as that: it is faster than all that is measured.
 */
public final class IngressPeers implements AutoCloseable {
  public static final String OURS = "zlayer";
  public static final String BY_HAND = "HAProxy by hand";
  public static final String SHORT = "the same, short";
  public static final String CADDY = "Caddy";
  public static final String NGINX = "nginx";
  public static final String JETTY = "Jetty";
  public static final String HOST = "h7.bench.test";
  public static final String TLS_HOST = "tls.bench.test";

  private static final ServiceKey WEB = new ServiceKey("bench", "web");

  /** Has all hosts but one. */
  private static final ServiceKey OTHERS = new ServiceKey("bench", "others");

  private static final int ORIGIN = 9001;
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /**
   * Who takes part.
   *
   * @param https the port for TLS; 0 without
   * @param place names its processes; empty when their memory is not of interest
   */
  public record Peer(String name, int http, int https, String place) {}

  private final Path directory;
  private final Ingress ingress;
  private final List<EndpointSpec> endpoints;
  private final List<Process> processes = new ArrayList<>();
  private final List<Peer> peers = new ArrayList<>();

  private IngressPeers(Path directory, Ingress ingress, List<EndpointSpec> endpoints) {
    this.directory = directory;
    this.ingress = ingress;
    this.endpoints = endpoints;
  }

  /** Those of {@code others} that are not installed do not take part. */
  public static IngressPeers open(Path directory, int hosts, List<String> others) throws Exception {
    Files.createDirectories(directory);
    PemPair pem = certificate(directory);
    List<String> names = IntStream.range(0, hosts).mapToObj("h%d.bench.test"::formatted).toList();
    Path own = directory.resolve("z");
    var ingress =
        Ingress.open(
            IngressConfig.of(own, "127.0.0.1:8101", "127.0.0.1:8501", false),
            Rotation.NONE,
            TimeSource.monotonic(),
            new Supervisor());
    var endpoints = new ArrayList<EndpointSpec>();
    names.stream()
        .filter(name -> !name.equals(HOST))
        .forEach(name -> endpoints.add(endpoint(name, false)));
    endpoints.add(endpoint(TLS_HOST, true));
    var opened = new IngressPeers(directory, ingress, List.copyOf(endpoints));
    try {
      opened.start(names, others, pem);
    } catch (Exception | Error e) {
      opened.close();
      throw e;
    }
    return opened;
  }

  private void start(List<String> names, List<String> others, PemPair pem) throws Exception {
    run("origin", ORIGIN, origin());
    peers.add(new Peer("the server itself", ORIGIN, 0, ""));
    ingress.use(new OneCertificate(pem));
    ingress.update(members(OTHERS, endpoints, false));
    serveBy(false);
    peers.add(new Peer(OURS, 8101, 8501, directory.resolve("z").toString()));
    var byHand = new HaproxyByHand(directory, names, ORIGIN);
    run("byhand", 8102, byHand.promising(8102));
    peers.add(new Peer(BY_HAND, 8102, 8502, directory.resolve("byhand").toString()));
    run("short", 8106, byHand.brief(8106));
    peers.add(new Peer(SHORT, 8106, 8506, directory.resolve("short").toString()));
    if (others.contains(CADDY) && Files.isExecutable(Path.of("/usr/bin/caddy"))) {
      Path file = Files.writeString(directory.resolve("Caddyfile"), caddy(names));
      run(8103, "caddy", "run", "--adapter", "caddyfile", "--config", file.toString());
      peers.add(new Peer(CADDY, 8103, 8503, file.toString()));
    }
    if (others.contains(NGINX) && Files.isExecutable(Path.of("/usr/sbin/nginx"))) {
      Path file = Files.writeString(directory.resolve("nginx.conf"), nginx(names));
      run(8104, "nginx", "-p", directory.toString(), "-c", file.toString());
      peers.add(new Peer(NGINX, 8104, 8504, "nginx"));
    }
    if (others.contains(JETTY)) {
      jetty(names);
      peers.add(new Peer(JETTY, 8105, 8505, JettyProxy.class.getName()));
    }
    await(8501);
  }

  private void jetty(List<String> names) throws Exception {
    var hosts = new ArrayList<>(names);
    hosts.add(TLS_HOST);
    Files.write(directory.resolve("hosts"), hosts);
    Processes.check(
        Command.of(
            "openssl",
            "pkcs12",
            "-export",
            "-in",
            directory.resolve("both.pem").toString(),
            "-out",
            directory.resolve("jetty.p12").toString(),
            "-passout",
            "pass:" + JettyProxy.PASSWORD),
        Deadline.after(LIMIT));
    run(
        8105,
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-cp",
        System.getProperty("java.class.path"),
        JettyProxy.class.getName(),
        "8105",
        "8505",
        Integer.toString(ORIGIN),
        directory.toString());
  }

  public List<Peer> all() {
    return List.copyOf(peers);
  }

  /** Makes one of two replicas the only one of {@link #HOST}; returns when requests follow. */
  public void serveBy(boolean second) throws InterruptedException {
    ingress.update(members(WEB, List.of(endpoint(HOST, false)), second));
  }

  private static Rotation.Members members(
      ServiceKey service, List<EndpointSpec> endpoints, boolean second) {
    InetAddress address = InetAddress.ofLiteral(second ? "127.0.0.2" : "127.0.0.1");
    ContainerId id = ContainerId.of("bench", service.service(), second ? 2 : 1);
    return new Rotation.Members(
        service, endpoints, Reachability.NEVER, List.of(new Rotation.Member(id, address, true)));
  }

  /** The body of a response through our ingress. */
  public String answer() throws IOException {
    try (var socket = new Socket(InetAddress.ofLiteral("127.0.0.1"), 8101)) {
      socket.setSoTimeout(10_000);
      socket
          .getOutputStream()
          .write(
              "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"
                  .formatted(HOST)
                  .getBytes(StandardCharsets.US_ASCII));
      String response =
          new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      return response.substring(response.indexOf("\r\n\r\n") + 4);
    }
  }

  /** The processes of our HAProxy: others after a reload. */
  public String workers() throws InterruptedException {
    return Processes.check(
            Command.of("pgrep", "-f", "haproxy .*" + directory.resolve("z")), Deadline.after(LIMIT))
        .stdout();
  }

  /**
   * Kills the process that serves requests; returns when the next one does. Whoever connects
   * meanwhile is refused.
   */
  public void killWorker() throws IOException, InterruptedException {
    String worker =
        Processes.check(
                Command.of("pgrep", "-n", "-f", "haproxy .*" + directory.resolve("z")),
                Deadline.after(LIMIT))
            .stdout()
            .strip();
    Processes.check(Command.of("kill", "-KILL", worker), Deadline.after(LIMIT));
    Deadline deadline = Deadline.after(LIMIT);
    while (true) {
      try {
        if (answer().equals("one\n")) {
          return;
        }
      } catch (IOException | StringIndexOutOfBoundsException e) {
        if (deadline.passed()) {
          throw new IOException("the ingress does not come back", e);
        }
      }
      Thread.sleep(1);
    }
  }

  private static EndpointSpec endpoint(String host, boolean tls) {
    RouteSpec none = RouteSpec.NONE;
    var encryption =
        tls
            ? new EncryptionSpec(
                Optional.of(new TlsSpec(Optional.empty(), false, Optional.empty(), true)),
                true,
                Optional.empty())
            : EncryptionSpec.NONE;
    return new EndpointSpec(
        host,
        tls ? EndpointSpec.Protocol.HTTPS : EndpointSpec.Protocol.HTTP,
        ORIGIN,
        Optional.empty(),
        Exposure.INTERNAL,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        new RouteSpec(
            Optional.of(HostNames.parse(host)),
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
            encryption,
            RoutePolicy.NONE));
  }

  private static PemPair certificate(Path directory) throws IOException, InterruptedException {
    Path chain = directory.resolve("chain.pem");
    Path key = directory.resolve("key.pem");
    Processes.check(
        Command.of(
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "30",
            "-subj",
            "/CN=" + TLS_HOST,
            "-addext",
            "subjectAltName=DNS:" + TLS_HOST,
            "-keyout",
            key.toString(),
            "-out",
            chain.toString()),
        Deadline.after(LIMIT));
    Files.writeString(
        directory.resolve("both.pem"), Files.readString(chain) + Files.readString(key));
    return new PemPair(
        Files.readString(chain), Files.readString(key), Instant.now().plus(Duration.ofDays(29)));
  }

  private void run(String name, int port, String config) throws Exception {
    Path file = Files.writeString(directory.resolve(name + ".cfg"), config);
    run(port, "haproxy", "-f", file.toString());
  }

  /**
   * In a session of its own, as our HAProxy has one: the kernel shares processors between sessions
   * first, and one that it shared with the client would be another task for the scheduler.
   */
  private void run(int port, String... command) throws Exception {
    Path output = directory.resolve(port + ".log");
    var words = new ArrayList<>(List.of("setsid"));
    words.addAll(List.of(command));
    processes.add(Processes.start(Command.of(words), output.toFile()));
    await(port);
  }

  private static void await(int port) throws InterruptedException, IOException {
    Deadline deadline = Deadline.after(LIMIT);
    while (true) {
      try (var _ = new Socket(InetAddress.ofLiteral("127.0.0.1"), port)) {
        return;
      } catch (IOException e) {
        if (deadline.passed()) {
          throw e;
        }
        Thread.sleep(20);
      }
    }
  }

  private static String origin() {
    return """
    defaults
      mode http
      timeout connect 5s
      timeout client 60s
      timeout server 60s
    frontend one
      bind 127.0.0.1:%1$d
      http-request return status 200 content-type text/plain string "one\\n"
    frontend two
      bind 127.0.0.2:%1$d
      http-request return status 200 content-type text/plain string "two\\n"
    """
        .formatted(ORIGIN);
  }

  private String caddy(List<String> names) {
    return """
    {
      auto_https off
      admin 127.0.0.1:8203
      servers {
        metrics
      }
    }
    %s {
      log {
        output file %s
      }
      reverse_proxy 127.0.0.1:%d
    }
    https://%s:8503 {
      tls %s %s
      reverse_proxy 127.0.0.1:%d
    }
    """
        .formatted(
            names.stream().map("http://%s:8103"::formatted).collect(Collectors.joining(", ")),
            directory.resolve("caddy.access"),
            ORIGIN,
            TLS_HOST,
            directory.resolve("chain.pem"),
            directory.resolve("key.pem"),
            ORIGIN);
  }

  private String nginx(List<String> names) {
    String location =
        "location / { proxy_pass http://origin; proxy_http_version 1.1;"
            + " proxy_set_header Connection \"\"; proxy_set_header X-Forwarded-For $remote_addr; }";
    return """
    worker_processes auto;
    daemon off;
    error_log %1$s/nginx.errors;
    pid %1$s/nginx.pid;
    events { worker_connections 4096; }
    http {
      access_log %1$s/nginx.access;
      server_names_hash_max_size 8192;
      server_names_hash_bucket_size 128;
      upstream origin { server 127.0.0.1:%2$d; keepalive 64; }
      server { listen 127.0.0.1:8504 ssl; server_name %3$s; ssl_certificate %1$s/chain.pem; ssl_certificate_key %1$s/key.pem; %4$s }
    %5$s}
    """
        .formatted(
            directory,
            ORIGIN,
            TLS_HOST,
            location,
            names.stream()
                .map(
                    name ->
                        "  server { listen 127.0.0.1:8104; server_name %s; %s }\n"
                            .formatted(name, location))
                .collect(Collectors.joining()));
  }

  @Override
  public void close() {
    processes.forEach(Process::destroy);
    try {
      ingress.remove(WEB);
      ingress.remove(OTHERS);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } finally {
      ingress.close();
    }
  }

  /** The same for all hosts. */
  private record OneCertificate(PemPair pem) implements Certificates {
    @Override
    public void want(Set<HostTls> hosts) {}

    @Override
    public Optional<PemPair> find(String host) {
      return Optional.of(pem);
    }

    @Override
    public void listen(Runnable changed) {}

    @Override
    public void answerBy(Consumer<Map<String, String>> server) {}

    @Override
    public Map<String, String> challenges() {
      return Map.of();
    }

    @Override
    public List<CertificateStatus> status() {
      return List.of();
    }

    @Override
    public void refresh() {}

    @Override
    public String localAuthority() {
      return pem.chain();
    }

    @Override
    public void revoke(String host) {}
  }
}
