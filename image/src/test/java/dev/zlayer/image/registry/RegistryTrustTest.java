package dev.zlayer.image.registry;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.image.registry.RegistryException.Problem;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.RegistryAuth;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Who is asked, and who gets to see credentials. */
class RegistryTrustTest extends RegistryFixture {
  @Test
  void credentialsStayWithTheirHostAcrossRedirects() throws Exception {
    try (var elsewhere = new FakeRegistry()) {
      elsewhere.serve(layer);
      fake.behave(
          exchange -> {
            if (exchange.getRequestHeaders().getFirst("Authorization") == null) {
              exchange.getResponseHeaders().set("WWW-Authenticate", "Basic realm=\"x\"");
              return FakeRegistry.text(exchange, 401, "");
            }
            if (exchange.getRequestURI().getPath().contains("/blobs/")) {
              exchange
                  .getResponseHeaders()
                  .set("Location", "http://" + elsewhere.host() + "/blobs/" + layer.digest());
              return FakeRegistry.text(exchange, 307, "");
            }
            return false;
          });
      Credentials credentials = _ -> Optional.of(new RegistryAuth.Basic("ann", "secret"));
      use(RegistriesConfig.EMPTY, credentials, this::fetchLayer);
      assertThat(content.has(layer.digest())).isTrue();
      assertThat(fake.seen.getLast().authorization()).isPresent();
      assertThat(elsewhere.seen)
          .singleElement()
          .matches(request -> request.authorization().isEmpty());
    }
  }

  @Test
  void aHostThatWasRedirectedToGetsNoCredentialsEvenIfItAsks() throws Exception {
    try (var elsewhere = new FakeRegistry()) {
      elsewhere.behave(
          exchange -> {
            exchange.getResponseHeaders().set("WWW-Authenticate", "Basic realm=\"give\"");
            return FakeRegistry.text(exchange, 401, "");
          });
      fake.behave(
          exchange -> {
            exchange.getResponseHeaders().set("Location", "http://" + elsewhere.host() + "/x");
            return FakeRegistry.text(exchange, 307, "");
          });
      Credentials credentials = _ -> Optional.of(new RegistryAuth.Basic("ann", "secret"));
      assertProblem(
          () -> use(RegistriesConfig.EMPTY, credentials, this::fetchLayer),
          Problem.DENIED,
          "credentials of its own");
      assertThat(elsewhere.seen).allMatch(request -> request.authorization().isEmpty());
    }
  }

  @Test
  void tokensAreFetchedForPullingOnlyAndRemembered() throws Exception {
    serveTokens("{\"token\":\"abc\",\"expires_in\":300}");
    use(
        RegistriesConfig.EMPTY,
        _ -> Optional.of(new RegistryAuth.Basic("ann", "secret")),
        repository -> {
          repository.manifest("v1");
          fetchLayer(repository);
        });
    assertThat(fake.seen.stream().map(FakeRegistry.Seen::path).filter("/token"::equals)).hasSize(1);
    assertThat(fake.seen)
        .filteredOn(request -> request.path().equals("/token"))
        .allMatch(request -> request.query().contains("scope=repository%3Aapp%3Apull&"));
    assertThat(fake.seen.getLast().authorization()).contains("Bearer abc");
  }

  private void serveTokens(String answer) {
    fake.behave(
        exchange -> {
          if (exchange.getRequestURI().getPath().equals("/token")) {
            return FakeRegistry.text(exchange, 200, answer);
          }
          String authorization = exchange.getRequestHeaders().getFirst("Authorization");
          if (authorization == null || !authorization.equals("Bearer abc")) {
            exchange
                .getResponseHeaders()
                .set(
                    "WWW-Authenticate",
                    "Bearer realm=\"http://%s/token\",service=\"s\",scope=\"repository:app:pull,push\""
                        .formatted(fake.host()));
            return FakeRegistry.text(exchange, 401, "");
          }
          return false;
        });
  }

  @Test
  void endlessTokensAreRefused() {
    char[] endless = new char[100_000];
    Arrays.fill(endless, 'a');
    serveTokens("{\"token\":\"" + new String(endless) + "\"}");
    assertProblem(
        () -> use(repository -> repository.manifest("v1")), Problem.UNSOUND, "usable token");
    serveTokens("{\"token\":\"a\\nb\"}");
    assertProblem(
        () -> use(repository -> repository.manifest("v1")), Problem.UNSOUND, "usable token");
  }

  @Test
  void aTokenThatIsNotAcceptedEndsIt() {
    serveTokens("{\"token\":\"other\"}");
    assertProblem(
        () ->
            use(
                RegistriesConfig.EMPTY,
                _ -> Optional.of(new RegistryAuth.Basic("ann", "secret")),
                repository -> repository.manifest("v1")),
        Problem.DENIED,
        "user 'ann'");
    assertThat(fake.seen).hasSize(3);
  }

  @Test
  void credentialsAreNotSentToATokenServiceInTheClearElsewhere() {
    fake.behave(
        exchange -> {
          exchange
              .getResponseHeaders()
              .set("WWW-Authenticate", "Bearer realm=\"http://collector.example/token\"");
          return FakeRegistry.text(exchange, 401, "");
        });
    assertProblem(
        () ->
            use(
                RegistriesConfig.EMPTY,
                _ -> Optional.of(new RegistryAuth.Basic("ann", "secret")),
                repository -> repository.manifest("v1")),
        Problem.UNSOUND,
        "cannot safely be sent");
  }

  @Test
  void mirrorsAreAskedInOrderWithTheirOwnCredentials() throws Exception {
    try (var empty = new FakeRegistry();
        var full = new FakeRegistry()) {
      full.serve(image, "app:v1");
      var config =
          RegistriesConfig.parse(
              """
              {"hosts": {"%s": {"mirrors": ["127.0.0.1:1", "%s", "http://%s/"]}}}
              """
                  .formatted(ref.host(), empty.host(), full.host()));
      use(
          config,
          host -> Optional.of(new RegistryAuth.Basic("for-" + host, "x")),
          repository -> {
            assertThat(repository.manifest("v1").digest()).isEqualTo(image.digest());
            fetchLayer(repository);
          });
      assertThat(fake.seen).isEmpty();
      assertThat(empty.seen).hasSize(2);
      assertThat(full.seen)
          .hasSize(2)
          .allMatch(request -> request.query().equals("ns=" + ref.host()));
      assertThat(notices).hasSize(4);
    }
  }

  @Test
  void explicitCredentialsAreNotShownToMirrors() throws Exception {
    try (var mirror = new FakeRegistry();
        Registry registry =
            registry(
                RegistriesConfig.parse(
                    "{\"hosts\": {\"%s\": {\"mirrors\": [\"%s\"]}}}"
                        .formatted(ref.host(), mirror.host())),
                Credentials.NONE)) {
      FakeRegistry.Behaviour locked =
          exchange -> {
            if (exchange.getRequestHeaders().getFirst("Authorization") != null) {
              return false;
            }
            exchange.getResponseHeaders().set("WWW-Authenticate", "Basic realm=\"x\"");
            return FakeRegistry.text(exchange, 401, "");
          };
      mirror.behave(locked);
      fake.behave(locked);
      var auth = Optional.<RegistryAuth>of(new RegistryAuth.Basic("ann", "secret"));
      assertThat(registry.repository(ref, auth, notices::add).manifest("v1").digest())
          .isEqualTo(image.digest());
      assertThat(mirror.seen).allMatch(request -> request.authorization().isEmpty());
    }
  }

  @Test
  void offlineHostIsNeverAsked() {
    var config = new RegistriesConfig(Map.of(ref.host(), offline()));
    assertProblem(
        () -> use(config, Credentials.NONE, repository -> repository.manifest("v1")),
        Problem.OFFLINE,
        "offline");
    assertThat(fake.seen).isEmpty();
  }

  private static HostConfig offline() {
    return new HostConfig(List.of(), Optional.empty(), Optional.empty(), Optional.empty(), true);
  }

  @Test
  void unreachableHostIsToldAtOnce() {
    fake.close();
    assertProblem(
        () -> use(repository -> repository.manifest("v1")),
        Problem.UNREACHABLE,
        "cannot connect to http://" + ref.host());
    assertThat(pauses).isEmpty();
  }

  @Test
  void aHostThatSpeaksNoTlsIsTold() throws Exception {
    try (var raw = new RawServer(socket -> socket.getOutputStream().write(NOT_TLS))) {
      ref = ImageRef.parse(raw.host() + "/app:v1");
      var config =
          RegistriesConfig.parse(
              "{\"hosts\": {\"%s\": {\"plainHttp\": false}}}".formatted(raw.host()));
      assertProblem(
          () -> use(config, Credentials.NONE, repository -> repository.manifest("v1")),
          Problem.TLS,
          "does not speak https");
    }
  }

  @Test
  void resetConnectionsAreTriedAgain() throws Exception {
    try (var raw = new RawServer(socket -> socket.setSoLinger(true, 0))) {
      ref = ImageRef.parse(raw.host() + "/app:v1");
      assertProblem(() -> use(repository -> repository.manifest("v1")), Problem.BROKEN, raw.host());
      assertThat(pauses).hasSize(4);
    }
  }
}
