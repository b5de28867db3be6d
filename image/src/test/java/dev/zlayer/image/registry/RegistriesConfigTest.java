package dev.zlayer.image.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.RegistryAuth;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RegistriesConfigTest {
  private static List<String> asked(RegistriesConfig config, String image) {
    return RegistryEndpoint.of(ImageRef.parse(image), config).stream()
        .map(endpoint -> endpoint.manifest("v1").toString())
        .toList();
  }

  @ParameterizedTest
  @CsvSource({
    "nginx, https://registry-1.docker.io/v2/library/nginx/manifests/v1",
    "quay.io/a/b, https://quay.io/v2/a/b/manifests/v1",
    "localhost:5000/a, http://localhost:5000/v2/a/manifests/v1",
    "127.0.0.9/a, http://127.0.0.9/v2/a/manifests/v1",
    "[::1]:5000/a, http://[::1]:5000/v2/a/manifests/v1",
    "127.0.0.1.example.com/a, https://127.0.0.1.example.com/v2/a/manifests/v1",
  })
  void plainHttpIsForLoopbackOnly(String image, String uri) {
    assertThat(asked(RegistriesConfig.EMPTY, image)).containsExactly(uri);
  }

  @Test
  void mirrorsComeFirstAndOfflineLeavesTheHostOut() {
    var config =
        RegistriesConfig.parse(
            """
            {"hosts": {
              "docker.io": {"mirrors": ["mirror.example/hub", "http://lan:5000"], "offline": true},
              "lan:5000": {"credentials": {"user": "a", "password": "b"}},
              "*": {"plainHttp": true, "credentials": {"token": "t"}}
            }}
            """);
    assertThat(asked(config, "nginx"))
        .containsExactly(
            "http://mirror.example/v2/hub/library/nginx/manifests/v1?ns=docker.io",
            "http://lan:5000/v2/library/nginx/manifests/v1?ns=docker.io");
    assertThat(asked(config, "other.example/x"))
        .containsExactly("http://other.example/v2/x/manifests/v1");
    assertThat(config.of("lan:5000").credentials()).contains(new RegistryAuth.Basic("a", "b"));
    assertThat(config.of("any").credentials()).contains(new RegistryAuth.Token("t"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[]",
        "{\"host\": {}}",
        "{\"hosts\": {\"a\": {\"mirror\": []}}}",
        "{\"hosts\": {\"a\": {\"mirrors\": [\"ftp://x\"]}}}",
        "{\"hosts\": {\"a\": {\"mirrors\": [\"user@x\"]}}}",
        "{\"hosts\": {\"a\": {\"mirrors\": [1]}}}",
        "{\"hosts\": {\"a\": {\"plainHttp\": \"yes\"}}}",
        "{\"hosts\": {\"a\": {\"credentials\": {}}}}",
        "{\"hosts\": {\"a\": {\"credentials\": {\"user\": \"u\", \"token\": \"t\"}}}}",
      })
  void mistakesAreNotIgnored(String text, @TempDir Path temp) throws Exception {
    assertThatThrownBy(() -> RegistriesConfig.parse(text))
        .isInstanceOf(AgentException.InvalidSpec.class);
    Path file = Files.writeString(temp.resolve("registries.json"), text);
    assertThatThrownBy(() -> RegistriesConfig.read(file))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining(file.toString());
  }

  @Test
  void noFileMeansNothingSpecial(@TempDir Path temp) {
    assertThat(RegistriesConfig.read(temp.resolve("none"))).isEqualTo(RegistriesConfig.EMPTY);
  }
}
