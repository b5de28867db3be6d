package dev.zlayer.proxy.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.acme.Pebble;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Certificates from a real ACME server, validated by what {@code challenges()} says. */
@Requires({Fact.PEBBLE, Fact.OPENSSL, Fact.BUSYBOX})
class AcmeIT {
  private static final String KEY_ID = "kid-1";
  private static final String BINDING_KEY =
      "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W";

  /** As the real one, only faster. */
  private static final RenewalPlanner PLANNER =
      new RenewalPlanner(new Backoff(Duration.ofMillis(200), Duration.ofSeconds(2), 2), 50);

  @TempDir private Path directory;
  private final MemorySealedStore store = new MemorySealedStore();
  private final Map<String, String> secrets = new ConcurrentHashMap<>();
  private final List<AutoCloseable> open = new ArrayList<>();
  private final AtomicInteger asked = new AtomicInteger();
  private volatile Map<String, String> served = Map.of();
  private int httpPort;

  @BeforeEach
  void serveChallenges() throws IOException {
    HttpServer web =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    httpPort = web.getAddress().getPort();
    web.createContext(
        "/.well-known/acme-challenge/",
        exchange -> {
          asked.incrementAndGet();
          String path = exchange.getRequestURI().getPath();
          String answer = served.get(path.substring(path.lastIndexOf('/') + 1));
          byte[] body = String.valueOf(answer).getBytes(StandardCharsets.US_ASCII);
          exchange.sendResponseHeaders(answer == null ? 404 : 200, body.length);
          try (var out = exchange.getResponseBody()) {
            out.write(body);
          }
        });
    web.start();
    open.add(() -> web.stop(0));
  }

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable one : open.reversed()) {
      one.close();
    }
  }

  @Test
  void obtainsACertificateThatTheAuthoritySigned() throws Exception {
    Pebble pebble = pebble(Pebble.Options.of(httpPort));
    ManagedCertificates certificates = certificates(config(pebble));

    certificates.want(Set.of(acme("shop.test")));

    PemPair pem = obtained(certificates, "shop.test");
    CertificateCheck.pem(pem.chain() + pem.key(), "shop.test", Instant.now());
    List<X509Certificate> chain = PemText.parse(pem.chain()).certificates();
    chain.getLast().verify(PemText.parse(pebble.root()).certificates().getFirst().getPublicKey());
    assertThat(asked).hasPositiveValue();
    assertThat(certificates.challenges()).isEmpty();
    CertificateStatus status = certificates.status().getFirst();
    assertThat(status.issuer().orElseThrow()).contains("Pebble");
    assertThat(status.renewal().orElseThrow()).isAfter(Instant.now().plus(Duration.ofDays(59)));
    assertThat(status.error()).isEmpty();
  }

  @Test
  void renewsBeforeTheEndWithAnotherKeyAndKeepsItsAccount() throws Exception {
    Pebble pebble = pebble(Pebble.Options.of(httpPort).withValidity(6));
    ManagedCertificates certificates = certificates(config(pebble));
    certificates.want(Set.of(acme("shop.test")));
    PemPair first = obtained(certificates, "shop.test");

    soon().until(() -> !certificates.find("shop.test").orElseThrow().equals(first));

    PemPair second = certificates.find("shop.test").orElseThrow();
    assertThat(second.key()).isNotEqualTo(first.key());
    assertThat(second.notAfter()).isAfter(first.notAfter());
    assertThat(store.keys().stream().filter(key -> key.startsWith("acme-account/"))).hasSize(1);
  }

  @Test
  void revokesAndObtainsAnother() throws Exception {
    Pebble pebble = pebble(Pebble.Options.of(httpPort));
    ManagedCertificates certificates = certificates(config(pebble));
    certificates.want(Set.of(acme("shop.test")));
    PemPair first = obtained(certificates, "shop.test");
    String serial =
        PemText.parse(first.chain()).certificates().getFirst().getSerialNumber().toString(16);
    assertThat(pebble.revoked(serial)).isFalse();

    certificates.revoke("shop.test");

    assertThat(pebble.revoked(serial)).isTrue();
    soon()
        .until(() -> certificates.find("shop.test").filter(one -> !one.equals(first)).isPresent());
  }

  @Test
  void anAuthorityThatIsDownIsAskedSeldomAndThenAgain() throws Exception {
    Pebble pebble = pebble(Pebble.Options.of(httpPort));
    pebble.down();
    ManagedCertificates certificates = certificates(config(pebble));
    certificates.want(Set.of(acme("shop.test")));
    soon().until(() -> !error(certificates).isEmpty());
    assertThat(error(certificates))
        .startsWith("the authority at %s cannot be reached".formatted(pebble.directory()));

    pebble.up();

    obtained(certificates, "shop.test");
    soon().until(() -> error(certificates).isEmpty());
  }

  @Test
  void anAuthorityThatLostItsAccountsGetsANewOne() throws Exception {
    Pebble pebble = pebble(Pebble.Options.of(httpPort));
    ManagedCertificates certificates = certificates(config(pebble));
    certificates.want(Set.of(acme("one.test")));
    obtained(certificates, "one.test");
    pebble.down();
    pebble.up();

    certificates.want(Set.of(acme("one.test"), acme("two.test")));

    obtained(certificates, "two.test");
  }

  @Test
  void aRefusedHostIsAnErrorThatSaysWhy() throws Exception {
    Pebble pebble = pebble(Pebble.Options.of(httpPort).withBlocked("blocked.test"));
    ManagedCertificates certificates = certificates(config(pebble));

    certificates.want(Set.of(acme("blocked.test"), acme("fine.test")));

    obtained(certificates, "fine.test");
    soon().until(() -> !error(certificates).isEmpty());
    assertThat(error(certificates)).startsWith("the authority refused: ").contains("blocked.test");
  }

  @Test
  void aHostThatIsElsewhereIsNotValidated() throws Exception {
    Pebble pebble = pebble(Pebble.Options.of(httpPort));
    pebble.address("elsewhere.test", "127.0.0.77"); // nothing listens there
    ManagedCertificates certificates = certificates(config(pebble));

    certificates.want(Set.of(acme("elsewhere.test")));

    soon().until(() -> !error(certificates).isEmpty());
    assertThat(error(certificates))
        .startsWith("the authority could not validate elsewhere.test: ")
        .contains("127.0.0.77");
    certificates.want(Set.of()); // the next attempt, which may have begun, is the last one
    soon().until(() -> certificates.challenges().isEmpty());
  }

  @Test
  void anAuthorityThatLimitsTheRateIsLeftAloneAsLongAsItAsks() throws Exception {
    var requests = new AtomicInteger();
    HttpServer limiting =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    String base = "http://127.0.0.1:" + limiting.getAddress().getPort();
    limiting.createContext(
        "/",
        exchange -> {
          exchange.getRequestBody().readAllBytes();
          exchange.getResponseHeaders().add("Replay-Nonce", "bm9uY2U" + requests.get());
          String path = exchange.getRequestURI().getPath();
          boolean account = path.equals("/account");
          String body =
              account
                  ? "{\"type\":\"urn:ietf:params:acme:error:rateLimited\",\"detail\":\"too many\"}"
                  : "{\"newNonce\":\"%1$s/nonce\",\"newAccount\":\"%1$s/account\",\"newOrder\":\"%1$s/order\"}"
                      .formatted(base);
          if (account) {
            requests.incrementAndGet();
            exchange.getResponseHeaders().add("Retry-After", "3600");
          }
          exchange
              .getResponseHeaders()
              .add("Content-Type", account ? "application/problem+json" : "application/json");
          boolean head = exchange.getRequestMethod().equals("HEAD");
          byte[] bytes = body.getBytes(StandardCharsets.US_ASCII);
          exchange.sendResponseHeaders(account ? 429 : 200, head ? -1 : bytes.length);
          if (!head) {
            exchange.getResponseBody().write(bytes);
          }
          exchange.close();
        });
    limiting.start();
    open.add(() -> limiting.stop(0));
    ManagedCertificates certificates =
        certificates(
            new AcmeConfig(
                base + "/dir",
                Optional.empty(),
                true,
                Optional.empty(),
                false,
                Optional.empty(),
                Optional.empty()));
    certificates.want(Set.of(acme("one.test")));
    soon().until(() -> !error(certificates).isEmpty());
    assertThat(error(certificates)).isEqualTo("the authority limits the rate: too many");

    certificates.want(Set.of(acme("one.test"), acme("two.test")));

    assertThat(certificates.status())
        .allSatisfy(
            status ->
                assertThat(status.renewal().orElseThrow())
                    .isAfter(Instant.now().plus(Duration.ofMinutes(50))));
    assertThat(requests).hasValue(1);
  }

  @Test
  void bindsAnAccountThatExistsElsewhere() throws Exception {
    Pebble pebble = pebble(Pebble.Options.of(httpPort).withBinding(KEY_ID, BINDING_KEY));
    secrets.put("/eab", "d3Jvbmc\n");
    AcmeConfig plain = config(pebble);
    var bound =
        new AcmeConfig(
            plain.directory(),
            plain.email(),
            true,
            plain.caBundle(),
            false,
            Optional.empty(),
            Optional.of(new AcmeConfig.Binding(KEY_ID, "eab")));
    ManagedCertificates certificates = certificates(bound);
    certificates.want(Set.of(acme("shop.test")));
    soon().until(() -> !error(certificates).isEmpty());
    assertThat(certificates.find("shop.test")).isEmpty();
    assertThat(error(certificates))
        .isEqualTo(
            "secret 'eab' holds no key for acme_eab_key_id: it takes base64url of at least 32"
                + " bytes");

    secrets.put("/eab", BINDING_KEY + "\n");

    obtained(certificates, "shop.test");
  }

  @Test
  void wildcardsAreValidatedByTheHook() throws Exception {
    Pebble pebble = pebble(Pebble.Options.of(httpPort));
    Path calls = directory.resolve("calls");
    Path hook = directory.resolve("hook");
    Files.writeString(
        hook,
        """
        #!/bin/sh
        echo "$1 $2 $3" >>%s
        NAME=${3%%.} VALUE=$4
        [ "$1" = present ] || exit 0
        %s
        """
            .formatted(calls, pebble.setTxt()));
    Files.setPosixFilePermissions(hook, PosixFilePermissions.fromString("rwx------"));
    ManagedCertificates certificates = certificates(withHook(pebble, hook));

    certificates.want(Set.of(acme("*.shop.test")));

    PemPair pem = obtained(certificates, "*.shop.test");
    CertificateCheck.pem(pem.chain() + pem.key(), "a.shop.test", Instant.now());
    assertThat(certificates.find("a.shop.test")).contains(pem);
    assertThat(Files.readAllLines(calls))
        .containsExactly(
            "present *.shop.test _acme-challenge.shop.test.",
            "cleanup *.shop.test _acme-challenge.shop.test.");
  }

  @Test
  void aHookThatFailsIsNamedWithWhatItSaid() throws Exception {
    Pebble pebble = pebble(Pebble.Options.of(httpPort));
    Path hook = directory.resolve("hook");
    Files.writeString(hook, "#!/bin/sh\necho 'no such zone' >&2\nexit 3\n");
    Files.setPosixFilePermissions(hook, PosixFilePermissions.fromString("rwx------"));
    ManagedCertificates certificates = certificates(withHook(pebble, hook));

    certificates.want(Set.of(acme("*.shop.test")));

    soon().until(() -> !error(certificates).isEmpty());
    assertThat(error(certificates))
        .isEqualTo(
            "acme_dns_hook %s present *.shop.test ended with 3: no such zone".formatted(hook));
  }

  private Pebble pebble(Pebble.Options options) {
    Pebble pebble = Pebble.start(directory.resolve("pebble"), options);
    open.add(pebble);
    return pebble;
  }

  private static AcmeConfig config(Pebble pebble) {
    return new AcmeConfig(
        pebble.directory(),
        Optional.of("ops@example.org"),
        true,
        Optional.of(pebble.bundle()),
        false,
        Optional.empty(),
        Optional.empty());
  }

  private static AcmeConfig withHook(Pebble pebble, Path hook) {
    return new AcmeConfig(
        pebble.directory(),
        Optional.empty(),
        true,
        Optional.of(pebble.bundle()),
        false,
        Optional.of(hook),
        Optional.empty());
  }

  private ManagedCertificates certificates(AcmeConfig config) throws InterruptedException {
    var parts =
        new ManagedCertificates.Parts(
            store,
            (deployment, name) -> Optional.ofNullable(secrets.get(deployment + "/" + name)),
            config,
            CertificateEvents.NONE,
            TimeSource.of(InstantSource.system()),
            new Supervisor());
    ManagedCertificates made =
        ManagedCertificates.open(
            parts,
            PLANNER,
            sink -> new AcmeIssuer(config, new CertificateRecords(store), parts.secrets(), sink));
    open.add(made);
    made.answerBy(answers -> served = answers);
    return made;
  }

  private static PemPair obtained(ManagedCertificates certificates, String host) {
    soon().until(() -> certificates.find(host).isPresent());
    return certificates.find(host).orElseThrow();
  }

  private static String error(ManagedCertificates certificates) {
    return certificates.status().getFirst().error().orElse("");
  }

  private static ConditionFactory soon() {
    return await().atMost(Duration.ofSeconds(40)).pollInterval(Duration.ofMillis(20));
  }

  private static HostTls acme(String host) {
    return new HostTls(host, HostTls.Kind.ACME, "shop", Optional.empty());
  }
}
