package dev.zlayer.proxy.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.Rotation;
import dev.zlayer.proxy.ingress.Ingress;
import dev.zlayer.proxy.ingress.IngressConfig;
import dev.zlayer.spec.network.EncryptionSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.Exposure;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.spec.network.RouteSpec;
import dev.zlayer.spec.network.TlsSpec;
import dev.zlayer.spec.value.HostNames;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FreePorts;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.acme.Pebble;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Renewal by a real ACME server, which asks a real HAProxy, while requests are sent through it. */
@Requires({Fact.ROOT, Fact.HAPROXY, Fact.PEBBLE, Fact.OPENSSL})
class RenewalIT {
  private static final ServiceKey WEB = new ServiceKey("shop", "web");
  private static final String HOST = "shop.test";
  private static final String REQUEST = "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n";
  private static final String ANSWER = "renewed";

  /** As the real one, only faster. */
  private static final RenewalPlanner PLANNER =
      new RenewalPlanner(new Backoff(Duration.ofMillis(200), Duration.ofSeconds(2), 2), 100);

  @TempDir private Path directory;
  private final Set<BigInteger> serials = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean ended = new AtomicBoolean();
  private int https;

  @Test
  void noRequestFailsWhileCertificatesAreRenewed() throws Exception {
    int http = FreePorts.take();
    https = FreePorts.take();
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(200, ANSWER.length());
          exchange.getResponseBody().write(ANSWER.getBytes(StandardCharsets.US_ASCII));
          exchange.close();
        });
    server.start();
    var config =
        IngressConfig.of(directory.resolve("i"), "127.0.0.1:" + http, "127.0.0.1:" + https, false);
    try (var pebble =
            Pebble.start(directory.resolve("pebble"), Pebble.Options.of(http).withValidity(6));
        var certificates = certificates(pebble);
        var ingress =
            Ingress.open(config, Rotation.NONE, TimeSource.monotonic(), new Supervisor())) {
      try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
        ingress.use(certificates);
        ingress.update(members(server.getAddress().getPort()));
        await().atMost(Duration.ofSeconds(40)).until(() -> certificates.find(HOST).isPresent());
        await().atMost(Duration.ofSeconds(40)).until(() -> answers());

        Future<Integer> kept = pool.submit(() -> requestsOnOneConnection());
        Future<Integer> handshakes = pool.submit(() -> requestsWithAHandshakeEach());
        try {
          await()
              .atMost(Duration.ofSeconds(60))
              .until(() -> serials.size() >= 3 || kept.isDone() || handshakes.isDone());
        } finally {
          ended.set(true);
        }

        assertThat(kept.get(30, TimeUnit.SECONDS)).isPositive();
        assertThat(handshakes.get(30, TimeUnit.SECONDS)).isPositive();
        assertThat(serials).as("certificates that were served").hasSizeGreaterThanOrEqualTo(3);
      } finally {
        ingress.remove(WEB);
      }
    } finally {
      server.stop(0);
    }
  }

  private boolean answers() {
    try (SSLSocket socket = connect()) {
      request(socket);
      return true;
    } catch (IOException _) {
      return false; // not served yet
    }
  }

  private int requestsOnOneConnection() throws IOException {
    int requests = 0;
    try (SSLSocket socket = connect()) {
      while (!ended.get()) {
        request(socket);
        requests++;
      }
    }
    return requests;
  }

  private int requestsWithAHandshakeEach() throws IOException {
    int requests = 0;
    while (!ended.get()) {
      try (SSLSocket socket = connect()) {
        request(socket);
        requests++;
        var shown = (X509Certificate) socket.getSession().getPeerCertificates()[0];
        assertThat(shown.getIssuerX500Principal().getName()).contains("Pebble");
        serials.add(shown.getSerialNumber());
      }
    }
    return requests;
  }

  private SSLSocket connect() throws IOException {
    var plain = new Socket();
    plain.setSoTimeout(20_000);
    plain.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), https), 5_000);
    var socket = (SSLSocket) context().getSocketFactory().createSocket(plain, HOST, https, true);
    var parameters = socket.getSSLParameters();
    parameters.setServerNames(List.of(new SNIHostName(HOST)));
    socket.setSSLParameters(parameters);
    return socket;
  }

  private static void request(SSLSocket socket) throws IOException {
    socket.getOutputStream().write(REQUEST.getBytes(StandardCharsets.US_ASCII));
    InputStream in = socket.getInputStream();
    var answer = new StringBuilder();
    while (answer.indexOf(ANSWER) < 0) {
      int next = in.read();
      if (next < 0) {
        throw new IOException("the connection ended after: " + answer);
      }
      answer.append((char) next);
    }
    assertThat(answer.toString()).startsWith("HTTP/1.1 200");
  }

  /**
   * A new one for each connection, since sessions would be resumed with the certificate they began
   * with. Certificates end within seconds, so on a slow host one may have ended before it is
   * renewed.
   */
  private static SSLContext context() {
    var all =
        new X509ExtendedTrustManager() {
          @Override
          public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

          @Override
          public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

          @Override
          public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

          @Override
          public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

          @Override
          public void checkClientTrusted(X509Certificate[] chain, String type) {}

          @Override
          public void checkServerTrusted(X509Certificate[] chain, String type) {}

          @Override
          public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
          }
        };
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, new TrustManager[] {all}, null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  private static ManagedCertificates certificates(Pebble pebble) throws InterruptedException {
    var config =
        new AcmeConfig(
            pebble.directory(),
            Optional.empty(),
            true,
            Optional.of(pebble.bundle()),
            false,
            Optional.empty(),
            Optional.empty());
    var store = new MemorySealedStore();
    var parts =
        new ManagedCertificates.Parts(
            store,
            (_, _) -> Optional.empty(),
            config,
            CertificateEvents.NONE,
            TimeSource.of(InstantSource.system()),
            new Supervisor());
    return ManagedCertificates.open(
        parts,
        PLANNER,
        sink -> new AcmeIssuer(config, new CertificateRecords(store), parts.secrets(), sink));
  }

  private static Rotation.Members members(int port) {
    RouteSpec none = RouteSpec.NONE;
    var route =
        new RouteSpec(
            Optional.of(HostNames.parse(HOST)),
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
            new EncryptionSpec(
                Optional.of(new TlsSpec(Optional.empty(), true, Optional.empty(), false)),
                true,
                Optional.empty()),
            none.policy());
    var endpoint =
        new EndpointSpec(
            "web",
            EndpointSpec.Protocol.HTTPS,
            port,
            Optional.empty(),
            Exposure.INTERNAL,
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            route);
    return new Rotation.Members(
        WEB,
        List.of(endpoint),
        Reachability.NEVER,
        List.of(
            new Rotation.Member(
                ContainerId.of("shop", "web", 1), InetAddress.getLoopbackAddress(), true)));
  }
}
