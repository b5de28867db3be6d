package dev.zlayer.image.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.registry.RegistryException.Problem;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.testkit.registry.ForwardProxy;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Registries behind a forward proxy; their names cannot be resolved here. */
class ForwardProxiesTest extends RegistryFixture {
  private static final String BASIC =
      "Basic " + Base64.getEncoder().encodeToString("ann:p@ss".getBytes(StandardCharsets.UTF_8));
  private static final RegistriesConfig PLAIN =
      new RegistriesConfig(
          Map.of(
              "registry.test",
              new HostConfig(
                  List.of(), Optional.of(true), Optional.empty(), Optional.empty(), false)));

  @Test
  void goesThroughTheProxyWithItsPassword() throws Exception {
    try (var proxy = proxy(Optional.of(BASIC))) {
      byte[] manifest = manifest("registry.test/app:v1", address(proxy, "ann:p%40ss@"), "");

      assertThat(manifest).isEqualTo(image.manifest().bytes());
      assertThat(proxy.seen().getFirst().line())
          .startsWith("GET http://registry.test/v2/app/manifests/v1");
      // what is for the proxy does not reach the registry
      assertThat(fake.seen).allMatch(seen -> seen.authorization().isEmpty());
    }
  }

  @Test
  void aProxyThatDeniesIsNamedWithoutThePassword() throws Exception {
    try (var proxy = proxy(Optional.of(BASIC))) {
      assertProblem(
          () -> manifest("registry.test/app:v1", address(proxy, "ann:wrong@"), ""),
          Problem.DENIED,
          "proxy 127.0.0.1:%d does not accept our user".formatted(proxy.port()));
    }
  }

  /** A registry elsewhere must not have the agent ask its own machine, or the cloud around it. */
  @Test
  void noRegistryElsewhereSendsUsToThisMachine() throws Exception {
    try (var inside = new FakeRegistry();
        var proxy = proxy(Optional.empty())) {
      for (String place :
          List.of("http://" + inside.host(), "http://169.254.169.254", "http://[::1]:1")) {
        fake.behave(
            exchange -> {
              exchange.getResponseHeaders().set("Location", place + "/v2/app/manifests/v1");
              return FakeRegistry.text(exchange, 307, "");
            });
        assertProblem(
            () -> manifest("registry.test/app:v1", address(proxy, ""), ""),
            Problem.UNSOUND,
            "which is this machine");
        String realm = place.replace("http:", "https:") + "/token";
        fake.behave(
            exchange -> {
              exchange
                  .getResponseHeaders()
                  .set("WWW-Authenticate", "Bearer realm=\"%s\"".formatted(realm));
              return FakeRegistry.text(exchange, 401, "");
            });
        assertProblem(
            () -> manifest("registry.test/app:v1", address(proxy, ""), ""),
            Problem.UNSOUND,
            "cannot safely be sent");
      }
      assertThat(inside.seen).isEmpty();
    }
  }

  @Test
  void tunnelsAreAskedForWithThePassword() throws Exception {
    try (var proxy = proxy(Optional.of(BASIC))) {
      assertThatThrownBy(() -> manifest("secure.test/app:v1", address(proxy, "ann:p%40ss@"), ""))
          .isInstanceOf(RegistryException.class);
      assertThat(proxy.seen())
          .isNotEmpty()
          .allSatisfy(
              seen -> {
                assertThat(seen.line()).startsWith("CONNECT secure.test:443 ");
                assertThat(seen.authorization()).contains(BASIC);
              });
    }
  }

  @Test
  void aProxyThatDeniesATunnelIsNamed() throws Exception {
    try (var proxy = proxy(Optional.of(BASIC))) {
      assertProblem(
          () -> manifest("secure.test/app:v1", address(proxy, ""), ""),
          Problem.DENIED,
          "proxy 127.0.0.1:%d does not accept our user and password".formatted(proxy.port()));
    }
  }

  @Test
  void hostsThatNeedNoneAreAskedThemselves() throws Exception {
    try (var proxy = proxy(Optional.empty())) {
      assertProblem(
          () -> manifest("registry.test/app:v1", address(proxy, ""), "other, .test"),
          Problem.UNREACHABLE,
          "host registry.test is not known");
      assertThat(manifest(ref.toString(), address(proxy, ""), ""))
          .isEqualTo(image.manifest().bytes());
      assertThat(proxy.seen()).isEmpty();
    }
  }

  @Test
  void aProxyThatDoesNotAnswerIsNamed() throws Exception {
    String gone;
    try (var proxy = proxy(Optional.empty())) {
      gone = address(proxy, "");
    }
    assertProblem(
        () -> manifest("registry.test/app:v1", gone, ""), Problem.UNREACHABLE, "through proxy 127");
  }

  @ParameterizedTest
  @CsvSource({
    "http://a.example/, example, none",
    "http://a.example/, .example, none",
    "http://a.example/, *.example, none",
    "http://example/, .example, none",
    "http://anexample/, example, plain:1",
    "http://a.example/, '*', none",
    "http://a.example:5000/, example:5000, none",
    "http://a.example/, example:5000, plain:1",
    "https://a.example/, '', secure:2",
    "https://10.0.0.7/, 10.0.0.7, none",
    "http://localhost:5000/, '', none",
    "http://127.0.0.1/, '', none",
  })
  void choosesByTheHost(String target, String direct, String expected) {
    var proxies =
        ForwardProxies.parse(
            Optional.of("plain:1"), Optional.of("http://secure:2"), Optional.of(direct));
    assertThat(proxies.of(URI.create(target)).map(Object::toString).orElse("none"))
        .isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({"socks5://user:secret@host", "http://", "http://user:secret@ho st"})
  void refusesWhatIsNoProxyWithoutShowingIt(String text) {
    assertThatThrownBy(
            () -> ForwardProxies.parse(Optional.empty(), Optional.of(text), Optional.empty()))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("https_proxy is not a proxy")
        .hasMessageNotContaining("secret");
  }

  private ForwardProxy proxy(Optional<String> wanted) throws Exception {
    return new ForwardProxy(Integer.parseInt(fake.host().split(":", 2)[1]), wanted);
  }

  private static String address(ForwardProxy proxy, String user) {
    return "http://" + user + "127.0.0.1:" + proxy.port();
  }

  private byte[] manifest(String reference, String proxy, String direct) throws Exception {
    var proxies = ForwardProxies.parse(Optional.of(proxy), Optional.of(proxy), Optional.of(direct));
    try (var registry =
        new Registry(
            PLAIN,
            proxies,
            Credentials.NONE,
            timeouts,
            InstantSource.system(),
            pauses::add,
            division())) {
      ImageRef image = ImageRef.parse(reference);
      return registry
          .repository(image, Optional.empty(), notices::add)
          .manifest(image.selector())
          .bytes();
    }
  }
}
