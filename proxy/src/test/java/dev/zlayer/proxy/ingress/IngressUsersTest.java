package dev.zlayer.proxy.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.spec.network.EncryptionSpec;
import dev.zlayer.spec.network.RoutePolicy;
import dev.zlayer.spec.network.RouteSpec;
import dev.zlayer.spec.value.HostNames;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Users of endpoints, from the text of a secret. */
class IngressUsersTest {
  private static final IngressEndpoint ENDPOINT = endpoint("web");

  private static IngressEndpoint endpoint(String service) {
    RouteSpec none = RouteSpec.NONE;
    var route =
        new RouteSpec(
            Optional.of(HostNames.parse("a.test")),
            Optional.empty(),
            false,
            none.balance(),
            false,
            Optional.empty(),
            0,
            Optional.empty(),
            Optional.empty(),
            List.of(),
            List.of(),
            0,
            false,
            EncryptionSpec.NONE,
            new RoutePolicy(
                Optional.of("users"),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty()));
    return new IngressEndpoint(
        new ServiceKey("shop", service), "http", 80, false, route, List.of());
  }

  private static IngressUsers users(String text) {
    return new IngressUsers(
        (deployment, name) ->
            deployment.equals("shop") && name.equals("users")
                ? Optional.of(text)
                : Optional.empty());
  }

  @Test
  void eachUserOfEachEndpointIsFoundByAHash() {
    var entries =
        users("# people\n\nann:a:b\r\nbob:x").entries(List.of(ENDPOINT, endpoint("other")));

    assertThat(entries).hasSize(4);
    assertThat(entries.values()).containsOnly("ann", "bob");
    assertThat(entries.keySet()).allMatch(key -> key.matches("[0-9a-f]{64}"));
    assertThat(users("ann:a:b").problem(ENDPOINT)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "'', has no line",
    "'ann', entry 1 is not user:password",
    "'ann:', entry 1 is not user:password",
    "'a b:c', entry 1 is not user:password",
    "'ok:x\nann:$2y$05$abc', entry 2 has a hash",
    "'ann:{SHA}abc', entry 1 has a hash"
  })
  void aSecretThatCannotBeUsedLetsNobodyThrough(String text, String reason) {
    IngressUsers users = users(text.replace("\\n", "\n"));

    assertThat(users.entries(List.of(ENDPOINT))).isEmpty();
    assertThat(users.problem(ENDPOINT))
        .hasValueSatisfying(problem -> assertThat(problem).contains(reason).doesNotContain("ann"));
  }
}
