package dev.zlayer.host.credential;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
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
  void storesAndErasesBesideWhatOthersWrote() throws Exception {
    Files.writeString(
        file,
        """
        {"psFormat": "table", "auths": {"https://a.example/v1/": {"auth": "YW5uOng="}, "b.example": {}}}
        """);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
    assertThat(config.store("a.example", new RegistryAuth.Basic("bob", "p:w")))
        .isEqualTo(file.toString());
    config.store("docker.io", new RegistryAuth.Token("id"));
    assertThat(find("a.example")).contains(new RegistryAuth.Basic("bob", "p:w"));
    assertThat(find("docker.io")).contains(new RegistryAuth.Token("id"));
    var json = JsonText.parse(Files.readString(file));
    assertThat(json.at("psFormat").string()).contains("table");
    assertThat(json.at("auths").members())
        .containsOnlyKeys("b.example", "a.example", "https://index.docker.io/v1/");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    assertThat(config.erase("a.example")).isTrue();
    assertThat(config.erase("a.example")).isFalse();
    assertThat(find("a.example")).isEmpty();
    assertThat(find("docker.io")).isPresent();
  }

  @Test
  void aFileThatIsAbsentIsMadeForItsOwnerAlone() throws Exception {
    Path made = temp.resolve("home/.docker/config.json");
    new DockerConfig(made).store("a.example", new RegistryAuth.Basic("ann", "x"));
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(made.getParent())))
        .isEqualTo("rwx------");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(made)))
        .isEqualTo("rw-------");
  }

  @Test
  void helpersKeepTheSecretsOfTheirHosts() throws Exception {
    Files.writeString(file, "{\"credHelpers\": {\"one.example\": \"one\"}}");
    helper(
        "one",
        """
        case $1 in
          store) cat > "$0.kept";;
          erase) read host; [ "$host" = one.example ] && rm "$0.kept";;
          get) [ -f "$0.kept" ] || { echo "credentials not found in native keychain"; exit 1; }
               cat "$0.kept";;
        esac
        """);
    assertThat(config.store("one.example", new RegistryAuth.Basic("ann", "secret")))
        .isEqualTo("docker-credential-one");
    assertThat(Files.readString(file)).doesNotContain("secret");
    assertThat(find("one.example")).contains(new RegistryAuth.Basic("ann", "secret"));
    assertThat(config.erase("one.example")).isTrue();
    assertThat(find("one.example")).isEmpty();

    helper("one", "echo locked; exit 1");
    assertThatThrownBy(() -> config.store("one.example", new RegistryAuth.Basic("ann", "secret")))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("locked")
        .hasMessageNotContaining("secret");
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
