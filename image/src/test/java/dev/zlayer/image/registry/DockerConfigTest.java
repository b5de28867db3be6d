package dev.zlayer.image.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.port.RegistryAuth;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DockerConfigTest {
  @TempDir Path temp;
  private Path file;
  private DockerConfig config;

  @BeforeEach
  void start() {
    file = temp.resolve("config.json");
    config = new DockerConfig(file).withHelpersIn(temp);
  }

  private void helper(String name, String script) throws IOException {
    Path program = temp.resolve("docker-credential-" + name);
    Files.writeString(program, "#!/bin/sh\n" + script);
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
  }

  private Optional<RegistryAuth> find(String host) throws InterruptedException {
    return config.find(host);
  }

  @Test
  void readsEveryFormOfAuth() throws Exception {
    Files.writeString(
        file,
        """
        {"auths": {
          "https://index.docker.io/v1/": {"auth": "YW5uOnNlOmNyZXQ="},
          "quay.io": {"username": "bob", "password": "x"},
          "https://old.example/v2/": {"identitytoken": "id"},
          "empty.example": {},
          "bad.example": {"auth": "!!"}
        }}
        """);
    assertThat(find("docker.io")).contains(new RegistryAuth.Basic("ann", "se:cret"));
    assertThat(find("quay.io")).contains(new RegistryAuth.Basic("bob", "x"));
    assertThat(find("old.example")).contains(new RegistryAuth.Token("id"));
    assertThat(find("empty.example")).isEmpty();
    assertThat(find("evil-quay.io")).isEmpty();
    assertThat(find("quay.io:5000")).isEmpty();
    assertThatThrownBy(() -> find("bad.example"))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("bad.example");
  }

  @Test
  void asksHelpers() throws Exception {
    Files.writeString(
        file,
        """
        {"credsStore": "all", "credHelpers": {"one.example": "one"},
         "auths": {"none.example": {"auth": "YW5uOng="}}}
        """);
    helper("one", "read host; echo '{\"Username\":\"'$host'\",\"Secret\":\"s\"}'");
    helper(
        "all",
        """
        read host
        case $host in
          none.example) echo "credentials not found in native keychain"; exit 1;;
          https://index.docker.io/v1/) echo '{"Username":"<token>","Secret":"id"}';;
          *) echo "locked" >&2; exit 1;;
        esac
        """);
    assertThat(find("one.example")).contains(new RegistryAuth.Basic("one.example", "s"));
    assertThat(find("docker.io")).contains(new RegistryAuth.Token("id"));
    assertThat(find("none.example")).contains(new RegistryAuth.Basic("ann", "x"));
    assertThatThrownBy(() -> find("other.example"))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("docker-credential-all")
        .hasMessageContaining("locked");
  }

  @Test
  void helperNamesCannotBePaths() throws Exception {
    Files.writeString(file, "{\"credsStore\": \"../../bin/sh\"}");
    assertThatThrownBy(() -> find("a.example"))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("no program name");
  }

  @Test
  void noFileIsNoCredentials() throws Exception {
    assertThat(find("docker.io")).isEmpty();
  }
}
