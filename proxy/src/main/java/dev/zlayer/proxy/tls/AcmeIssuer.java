package dev.zlayer.proxy.tls;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.TlsFiles;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;
import org.shredzone.acme4j.AccountBuilder;
import org.shredzone.acme4j.Authorization;
import org.shredzone.acme4j.Certificate;
import org.shredzone.acme4j.Login;
import org.shredzone.acme4j.Problem;
import org.shredzone.acme4j.Session;
import org.shredzone.acme4j.Status;
import org.shredzone.acme4j.challenge.Challenge;
import org.shredzone.acme4j.challenge.Dns01Challenge;
import org.shredzone.acme4j.challenge.Http01Challenge;
import org.shredzone.acme4j.connector.NetworkSettings;
import org.shredzone.acme4j.exception.AcmeException;
import org.shredzone.acme4j.exception.AcmeNetworkException;
import org.shredzone.acme4j.exception.AcmeRateLimitedException;
import org.shredzone.acme4j.exception.AcmeServerException;
import org.shredzone.acme4j.exception.AcmeUserActionRequiredException;
import org.shredzone.acme4j.provider.GenericAcmeProvider;

/** Asks an ACME server (RFC 8555). The account is registered by the first order. */
final class AcmeIssuer implements CertificateIssuer {
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(30);
  private static final Duration VALIDATION_TIMEOUT = Duration.ofMinutes(3);
  private static final int SHORTEST_BINDING_KEY = 32;
  private static final String UNKNOWN_ACCOUNT = "urn:ietf:params:acme:error:accountDoesNotExist";

  private final AcmeConfig config;
  private final CertificateRecords records;
  private final ManagedCertificates.SecretLookup secrets;
  private final ChallengeSink sink;
  private final Optional<DnsHook> hook;
  private @Nullable Session session;

  AcmeIssuer(
      AcmeConfig config,
      CertificateRecords records,
      ManagedCertificates.SecretLookup secrets,
      ChallengeSink sink) {
    this.config = config;
    this.records = records;
    this.secrets = secrets;
    this.sink = sink;
    this.hook = config.dnsHook().map(DnsHook::new);
  }

  @Override
  public List<X509Certificate> issue(Order order) throws OrderFailed, InterruptedException {
    return translated(
        () -> {
          Login login = login();
          org.shredzone.acme4j.Order placed;
          if (order.url().isPresent()) {
            placed = login.bindOrder(url(order.url().get()));
            placed.fetch();
          } else {
            placed = login.newOrder().domain(order.host()).create();
            order.placed().accept(placed.getLocation().toString());
          }
          return complete(placed, order);
        });
  }

  @Override
  public void revoke(X509Certificate certificate) throws OrderFailed, InterruptedException {
    translated(
        () -> {
          Certificate.revoke(login(), certificate, null);
          return true;
        });
  }

  private List<X509Certificate> complete(org.shredzone.acme4j.Order placed, Order order)
      throws AcmeException, OrderFailed, InterruptedException {
    if (placed.getStatus() == Status.PENDING) {
      for (Authorization authorization : placed.getAuthorizations()) {
        if (authorization.getStatus() != Status.VALID) {
          validate(authorization, order.host());
        }
      }
      require(placed.waitUntilReady(VALIDATION_TIMEOUT), placed.getError(), order.host());
    }
    if (placed.getStatus() == Status.READY) {
      placed.execute(order.key());
    }
    require(placed.waitForCompletion(VALIDATION_TIMEOUT), placed.getError(), order.host());
    return placed.getCertificate().getCertificateChain();
  }

  private static void require(Status status, Optional<Problem> problem, String host)
      throws OrderFailed {
    if (status != Status.VALID && status != Status.READY) {
      throw new OrderFailed(
          "the order for %s is %s%s"
              .formatted(
                  host,
                  status.toString().toLowerCase(java.util.Locale.ROOT),
                  problem.map(one -> ": " + one).orElse("")),
          false,
          Optional.empty());
    }
  }

  private void validate(Authorization authorization, String host)
      throws AcmeException, OrderFailed, InterruptedException {
    if (config.usesDns(host)) {
      Dns01Challenge challenge = find(authorization, Dns01Challenge.class, "DNS-01");
      String name = challenge.getRRName(authorization.getIdentifier());
      DnsHook program = hook.orElseThrow();
      try {
        program.present(host, name, challenge.getDigest());
        await(challenge, host);
      } finally {
        program.cleanup(host, name, challenge.getDigest());
      }
    } else {
      Http01Challenge challenge = find(authorization, Http01Challenge.class, "HTTP-01");
      try {
        sink.present(challenge.getToken(), challenge.getAuthorization());
        await(challenge, host);
      } finally {
        sink.withdraw(challenge.getToken());
      }
    }
  }

  private static <C extends Challenge> C find(
      Authorization authorization, Class<C> type, String name) throws OrderFailed {
    return authorization
        .findChallenge(type)
        .orElseThrow(
            () ->
                new OrderFailed(
                    "the authority does not offer validation by " + name, false, Optional.empty()));
  }

  private static void await(Challenge challenge, String host)
      throws AcmeException, OrderFailed, InterruptedException {
    if (challenge.getStatus() == Status.PENDING) {
      challenge.trigger();
    }
    Status status = challenge.waitForCompletion(VALIDATION_TIMEOUT);
    if (status != Status.VALID) {
      throw new OrderFailed(
          "the authority could not validate %s: %s"
              .formatted(
                  host, challenge.getError().map(Problem::toString).orElse("no answer in time")),
          false,
          Optional.empty());
    }
  }

  /** The key is durable before it is registered, so a server has one account of this agent. */
  private synchronized Login login() throws AcmeException, OrderFailed {
    CertificateRecords.Account account = records.account(config.directory());
    KeyPair key = PemText.keyPair(account.key());
    if (account.location().isPresent()) {
      return session().login(url(account.location().get()), key);
    }
    records.put(account);
    var builder = new AccountBuilder().useKeyPair(key).agreeToTermsOfService();
    config.email().ifPresent(builder::addEmail);
    if (config.binding().isPresent()) {
      AcmeConfig.Binding binding = config.binding().get();
      builder.withKeyIdentifier(binding.keyId(), bindingKey(binding));
    }
    Login login = builder.createLogin(session());
    records.put(
        records.account(config.directory()).at(Optional.of(login.getAccountLocation().toString())));
    return login;
  }

  private SecretKeySpec bindingKey(AcmeConfig.Binding binding) throws OrderFailed {
    String text =
        secrets
            .find("", binding.secret())
            .orElseThrow(
                () ->
                    general(
                        "secret '%s' with the key of acme_eab_key_id was never set"
                            .formatted(binding.secret())));
    try {
      byte[] key = Base64.getUrlDecoder().decode(text.strip());
      if (key.length >= SHORTEST_BINDING_KEY) {
        return new SecretKeySpec(key, "HMAC");
      }
    } catch (IllegalArgumentException _) {
      // reported below, without quoting it
    }
    throw general(
        "secret '%s' holds no key for acme_eab_key_id: it takes base64url of at least %d bytes"
            .formatted(binding.secret(), SHORTEST_BINDING_KEY));
  }

  private static OrderFailed general(String reason) {
    return new OrderFailed(reason, true, Optional.empty());
  }

  private synchronized Session session() {
    if (session == null) {
      session = new Session(URI.create(config.directory()), new Provider(config));
      session.networkSettings().setTimeout(REQUEST_TIMEOUT);
    }
    return session;
  }

  private static URL url(String text) {
    try {
      return URI.create(text).toURL();
    } catch (MalformedURLException | IllegalArgumentException e) {
      throw new AgentException.Configuration("the stored address %s is none".formatted(text), e);
    }
  }

  /** Believes the server by the operator's certificates, where there are some. */
  private static final class Provider extends GenericAcmeProvider {
    private final AcmeConfig config;

    Provider(AcmeConfig config) {
      this.config = config;
    }

    @Override
    public HttpClient createHttpClient(NetworkSettings settings) {
      var builder =
          HttpClient.newBuilder()
              .followRedirects(HttpClient.Redirect.NORMAL)
              .connectTimeout(settings.getTimeout());
      config
          .caBundle()
          .ifPresent(
              file ->
                  builder.sslContext(new TlsFiles(Optional.of(file), Optional.empty()).context()));
      return builder.build();
    }
  }

  @FunctionalInterface
  private interface Step<T> {
    T run() throws AcmeException, OrderFailed, InterruptedException;
  }

  private <T> T translated(Step<T> step) throws OrderFailed, InterruptedException {
    try {
      return step.run();
    } catch (AcmeRateLimitedException e) {
      throw failed("the authority limits the rate", e, true, e.getRetryAfter());
    } catch (AcmeUserActionRequiredException e) {
      throw failed("the authority asks the operator to act", e, true, Optional.empty());
    } catch (AcmeServerException e) {
      if (UNKNOWN_ACCOUNT.equals(e.getType().toString())) {
        forgetAccount();
      }
      throw failed("the authority refused", e, false, Optional.empty());
    } catch (AcmeNetworkException e) {
      throw failed(
          "the authority at %s cannot be reached".formatted(config.directory()),
          Optional.ofNullable(e.getCause()).orElse(e),
          true,
          Optional.empty());
    } catch (AcmeException e) {
      throw failed(
          "the authority at %s did not answer as expected".formatted(config.directory()),
          e,
          true,
          Optional.empty());
    }
  }

  /** The server was set up anew; the next order registers again, with the same key. */
  private synchronized void forgetAccount() {
    records.put(records.account(config.directory()).at(Optional.empty()));
  }

  private static OrderFailed failed(
      String what, Throwable cause, boolean general, Optional<Instant> retryAfter) {
    var reasons = new ArrayList<String>();
    reasons.add(what);
    String message = cause.getMessage();
    reasons.add(message == null ? cause.getClass().getSimpleName() : message);
    var failure = new OrderFailed(String.join(": ", reasons), general, retryAfter);
    failure.initCause(cause);
    return failure;
  }
}
