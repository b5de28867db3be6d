package dev.zlayer.proxy.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.zlayer.error.AgentException;
import dev.zlayer.proxy.tls.CertificateIssuer.OrderFailed;
import dev.zlayer.task.Supervisor;
import dev.zlayer.testkit.FakeClock;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ManagedCertificatesTest {
  private static final AcmeConfig ACME =
      new AcmeConfig(
          "https://ca.test/dir",
          Optional.empty(),
          true,
          Optional.empty(),
          false,
          Optional.empty(),
          Optional.empty());

  private final FakeClock clock = new FakeClock();
  private final MemorySealedStore store = new MemorySealedStore();
  private final Map<String, String> secrets = new ConcurrentHashMap<>();
  private final List<String> events = new CopyOnWriteArrayList<>();
  private final ScriptedIssuer issuer = new ScriptedIssuer();
  private ManagedCertificates certificates = open(ACME);

  @AfterEach
  void close() {
    certificates.close();
  }

  @Test
  void makesCertificatesOfTheLocalAuthorityAtOnceAndKeepsThem() {
    certificates.want(Set.of(selfSigned("hello.localhost"), selfSigned("*.shop.test")));

    PemPair pem = certificates.find("Hello.localhost").orElseThrow();
    CertificateCheck.pem(pem.chain() + pem.key(), "hello.localhost", clock.instant());
    assertThat(certificates.find("a.shop.test")).isEqualTo(certificates.find("*.shop.test"));
    assertThat(certificates.find("a.b.shop.test")).isEmpty();
    assertThat(certificates.find("other.test")).isEmpty();
    CertificateStatus status = certificates.status().getLast();
    assertThat(status.host()).isEqualTo("hello.localhost");
    assertThat(status.issuer().orElseThrow()).contains("zlayer local CA");
    assertThat(status.renewal().orElseThrow()).isBetween(day(59), day(64));
    assertThat(status.error()).isEmpty();

    String authority = certificates.localAuthority();
    reopen(ACME);
    certificates.want(Set.of(selfSigned("hello.localhost")));

    assertThat(certificates.find("hello.localhost")).contains(pem);
    assertThat(certificates.localAuthority()).isEqualTo(authority);
  }

  @Test
  void renewsWhatTheLocalAuthorityMade() {
    certificates.want(Set.of(selfSigned("hello.localhost")));
    PemPair before = certificates.find("hello.localhost").orElseThrow();
    var changes = new AtomicInteger();
    certificates.listen(changes::incrementAndGet);

    clock.advance(Duration.ofDays(58));
    certificates.want(Set.of(selfSigned("hello.localhost")));
    assertThat(certificates.find("hello.localhost")).contains(before);
    assertThat(changes).hasValue(0);

    clock.advance(Duration.ofDays(10));
    certificates.want(Set.of(selfSigned("hello.localhost")));
    PemPair after = certificates.find("hello.localhost").orElseThrow();
    assertThat(after.notAfter()).isAfter(before.notAfter());
    assertThat(changes).hasValue(1);
    assertThat(events).hasSize(2).allMatch(event -> event.startsWith("renewed hello.localhost"));
  }

  @Test
  void servesWhatASecretHoldsAndSwapsItWhenTheSecretChanges() throws Exception {
    SampleChain first = SampleChain.of("shop.example.org", day(-1), day(30));
    secrets.put("shop/tls", first.pem());
    certificates.want(Set.of(ofSecret("shop.example.org")));
    assertThat(certificates.find("shop.example.org").orElseThrow().notAfter()).isEqualTo(day(30));
    assertThat(certificates.status().getFirst().issuer()).contains("CN=Sample intermediate");
    assertThat(certificates.status().getFirst().renewal()).isEmpty();
    var changed = new CountDownLatch(1);
    certificates.listen(changed::countDown);

    secrets.put("shop/tls", SampleChain.of("shop.example.org", day(-1), day(60)).pem());
    certificates.refresh();

    assertThat(changed.await(60, java.util.concurrent.TimeUnit.SECONDS)).isTrue();
    assertThat(certificates.find("shop.example.org").orElseThrow().notAfter()).isEqualTo(day(60));
  }

  @Test
  void aSecretThatCannotServeIsAnErrorThatNamesIt() throws Exception {
    certificates.want(Set.of(ofSecret("shop.example.org")));
    assertThat(error()).isEqualTo("secret 'tls' was never set");

    secrets.put("shop/tls", SampleChain.of("other.example.org", day(-1), day(30)).pem());
    certificates.want(Set.of(ofSecret("shop.example.org")));
    assertThat(error())
        .isEqualTo(
            "secret 'tls' cannot serve shop.example.org: it is not for shop.example.org but for"
                + " other.example.org");
    assertThat(certificates.find("shop.example.org")).isEmpty();

    certificates.want(Set.of(ofSecret("shop.example.org")));
    assertThat(events).as("the same error is reported once").hasSize(2);
  }

  @Test
  void aBrokenSecretDoesNotReplaceAGoodOne() throws Exception {
    secrets.put("shop/tls", SampleChain.of("shop.example.org", day(-1), day(30)).pem());
    certificates.want(Set.of(ofSecret("shop.example.org")));
    PemPair good = certificates.find("shop.example.org").orElseThrow();

    secrets.put("shop/tls", "rubbish");
    certificates.want(Set.of(ofSecret("shop.example.org")));

    assertThat(certificates.find("shop.example.org")).contains(good);
    assertThat(error()).contains("it has no private key");
    clock.advance(Duration.ofDays(31));
    certificates.want(Set.of(ofSecret("shop.example.org")));
    assertThat(certificates.find("shop.example.org")).as("expired").isEmpty();
  }

  @Test
  void ordersOnceAndKeepsWhatItGot() {
    certificates.want(Set.of(acme("shop.example.org")));
    PemPair pem = obtained("shop.example.org");
    assertThat(certificates.challenges()).isEmpty();

    reopen(ACME);
    certificates.want(Set.of(acme("shop.example.org")));

    assertThat(certificates.find("shop.example.org")).contains(pem);
    assertThat(issuer.orders).hasSize(1);
  }

  @Test
  void aHostThatIsWantedAgainIsNotOrderedAgain() {
    certificates.want(Set.of(acme("shop.example.org")));
    PemPair pem = obtained("shop.example.org");

    certificates.want(Set.of());
    assertThat(certificates.find("shop.example.org")).isEmpty();
    certificates.want(Set.of(acme("shop.example.org")));

    assertThat(certificates.find("shop.example.org")).contains(pem);
    assertThat(issuer.orders).hasSize(1);
  }

  @Test
  void renewsInTimeAndServesTheOldOneMeanwhile() {
    certificates.want(Set.of(acme("shop.example.org")));
    PemPair before = obtained("shop.example.org");
    issuer.failure = Optional.of(new OrderFailed("down", true, Optional.empty()));

    clock.advance(Duration.ofDays(64));
    certificates.refresh();
    await().until(() -> error().equals("down"));
    assertThat(certificates.find("shop.example.org")).contains(before);
    assertThat(events).last().isEqualTo("failed shop.example.org down");

    issuer.failure = Optional.empty();
    clock.advance(Duration.ofMinutes(2));
    certificates.refresh();
    await().until(() -> !certificates.find("shop.example.org").orElseThrow().equals(before));
    await().until(() -> status().error().isEmpty());
    assertThat(issuer.orders).hasSize(3);
  }

  @Test
  void aFailingAuthorityIsNotAskedAgainBeforeItsTimeAlsoAfterRestarts() {
    issuer.failure = Optional.of(new OrderFailed("down", true, Optional.empty()));
    certificates.want(Set.of(acme("a.example.org")));
    await().until(() -> error().equals("down"));

    for (int restart = 0; restart < 5; restart++) {
      reopen(ACME);
      certificates.want(Set.of(acme("a.example.org"), acme("b.example.org")));
      assertThat(error()).isEqualTo("down");
    }

    assertThat(issuer.orders)
        .as("the failure was the authority's, so the other host waits as well")
        .hasSize(1);
    assertThat(status().renewal().orElseThrow()).isAfterOrEqualTo(clock.instant().plusSeconds(60));
  }

  @Test
  void aClockThatIsSetDoesNotBringTheNextOrderForward() {
    issuer.failure = Optional.of(new OrderFailed("no", false, Optional.empty()));
    certificates.want(Set.of(acme("a.example.org")));
    await().until(() -> error().equals("no"));

    for (int jump = 0; jump < 20; jump++) {
      clock.set(Duration.ofDays(jump % 2 == 0 ? 400 : -300));
      certificates.want(Set.of(acme("a.example.org")));
    }

    assertThat(issuer.orders).hasSize(1);
  }

  @Test
  void anOrderThatAKillInterruptedIsContinuedOnce() {
    issuer.hang = true;
    certificates.want(Set.of(acme("a.example.org")));
    await().until(() -> issuer.orders.size() == 1);
    var disk = new MemorySealedStore();
    store
        .keys()
        .forEach(key -> disk.put(key, store.find(key).orElseThrow())); // as a kill leaves it

    try (ManagedCertificates killed = open(ACME, disk)) {
      killed.want(Set.of(acme("a.example.org")));
      await().until(() -> issuer.orders.size() == 2);
      var again = new MemorySealedStore();
      disk.keys().forEach(key -> again.put(key, disk.find(key).orElseThrow()));
      try (ManagedCertificates third = open(ACME, again)) {
        third.want(Set.of(acme("a.example.org")));
        assertThat(third.status().getFirst().renewal().orElseThrow())
            .as("continued once; then forgotten")
            .isAfter(clock.instant());
      }
    }

    assertThat(issuer.orders.getFirst().url()).isEmpty();
    assertThat(issuer.orders.get(1).url()).contains("https://ca.test/order/a.example.org");
    assertThat(issuer.orders.get(1).key().getPublic())
        .isEqualTo(issuer.orders.getFirst().key().getPublic());
    assertThat(issuer.orders).hasSize(2);
  }

  @Test
  void anotherAuthorityIsAskedAnew() {
    certificates.want(Set.of(acme("a.example.org")));
    PemPair staging = obtained("a.example.org");
    issuer.hang = true;

    reopen(
        new AcmeConfig(
            "https://other.test/dir",
            Optional.empty(),
            true,
            Optional.empty(),
            false,
            Optional.empty(),
            Optional.empty()));
    certificates.want(Set.of(acme("a.example.org")));

    await().until(() -> issuer.orders.size() == 2);
    assertThat(certificates.find("a.example.org")).as("served meanwhile").contains(staging);
  }

  @Test
  void asksNobodyWithoutConsentOrForWildcardsWithoutAHook() {
    reopen(AcmeConfig.none());
    certificates.want(Set.of(acme("a.example.org")));
    assertThat(error()).contains("terms of service").contains("acme_accept_terms");

    reopen(ACME);
    certificates.want(Set.of(acme("*.example.org")));
    assertThat(error()).contains("a wildcard needs validation by DNS").contains("acme_dns_hook");
    assertThat(issuer.orders).isEmpty();
  }

  @Test
  void aRevokedCertificateIsReplaced() throws Exception {
    certificates.want(Set.of(acme("a.example.org")));
    PemPair before = obtained("a.example.org");
    clock.advance(Duration.ofMinutes(2));

    certificates.revoke("a.example.org");

    assertThat(issuer.revoked).hasSize(1);
    await()
        .until(
            () ->
                certificates.find("a.example.org").filter(one -> !one.equals(before)).isPresent());
    assertThatThrownBy(() -> certificates.revoke("b.example.org"))
        .isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void aCertificateForAnotherHostIsRefused() {
    issuer.host = Optional.of("evil.example.org");
    certificates.want(Set.of(acme("a.example.org")));

    await().until(() -> !error().isEmpty());

    assertThat(error()).contains("it is not for a.example.org but for evil.example.org");
    assertThat(certificates.find("a.example.org")).isEmpty();
  }

  private PemPair obtained(String host) {
    await().until(() -> certificates.find(host).isPresent());
    return certificates.find(host).orElseThrow();
  }

  private CertificateStatus status() {
    return certificates.status().getFirst();
  }

  private String error() {
    return status().error().orElse("");
  }

  private Instant day(int day) {
    return FakeClock.START.plus(Duration.ofDays(day));
  }

  private static HostTls selfSigned(String host) {
    return new HostTls(host, HostTls.Kind.SELF_SIGNED, "shop", Optional.empty());
  }

  private static HostTls ofSecret(String host) {
    return new HostTls(host, HostTls.Kind.SECRET, "shop", Optional.of("tls"));
  }

  private static HostTls acme(String host) {
    return new HostTls(host, HostTls.Kind.ACME, "shop", Optional.empty());
  }

  private void reopen(AcmeConfig config) {
    certificates.close();
    certificates = open(config);
  }

  private ManagedCertificates open(AcmeConfig config) {
    return open(config, store);
  }

  private ManagedCertificates open(AcmeConfig config, MemorySealedStore on) {
    try {
      return ManagedCertificates.open(
          new ManagedCertificates.Parts(
              on,
              (deployment, name) -> Optional.ofNullable(secrets.get(deployment + "/" + name)),
              config,
              new CertificateEvents() {
                @Override
                public void renewed(HostTls host, String issuer, Instant notAfter) {
                  events.add("renewed " + host.host() + " " + notAfter);
                }

                @Override
                public void failed(HostTls host, String error) {
                  events.add("failed " + host.host() + " " + error);
                }
              },
              clock,
              new Supervisor()),
          RenewalPlanner.STANDARD,
          _ -> issuer);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** An authority that answers as a test says. */
  private final class ScriptedIssuer implements CertificateIssuer {
    final List<Order> orders = new CopyOnWriteArrayList<>();
    final List<X509Certificate> revoked = new CopyOnWriteArrayList<>();
    volatile Optional<OrderFailed> failure = Optional.empty();
    volatile Optional<String> host = Optional.empty();
    volatile boolean hang;

    @Override
    public List<X509Certificate> issue(Order order) throws OrderFailed, InterruptedException {
      if (order.url().isEmpty()) {
        order.placed().accept("https://ca.test/order/" + order.host());
      }
      orders.add(order);
      if (hang) {
        new CountDownLatch(1).await();
      }
      if (failure.isPresent()) {
        throw failure.get();
      }
      try {
        SampleChain chain =
            SampleChain.of(
                host.orElse(order.host()),
                clock.instant().minus(Duration.ofHours(1)),
                clock.instant().plus(Duration.ofDays(90)),
                order.key());
        return List.of(chain.own(), chain.intermediate());
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }

    @Override
    public void revoke(X509Certificate certificate) {
      revoked.add(certificate);
    }
  }
}
