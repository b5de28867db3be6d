package dev.zlayer.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ImageRefTest {
  private static final String SHA = "sha256:" + "a".repeat(64);

  @ParameterizedTest
  @CsvSource({
    "nginx, docker.io/library/nginx:latest, nginx:latest",
    "nginx:1.27, docker.io/library/nginx:1.27, nginx:1.27",
    "docker.io/nginx, docker.io/library/nginx:latest, nginx:latest",
    "index.docker.io/library/nginx, docker.io/library/nginx:latest, nginx:latest",
    "team/app, docker.io/team/app:latest, team/app:latest",
    "localhost/app, localhost/app:latest, localhost/app:latest",
    "localhost:5000/app:1, localhost:5000/app:1, localhost:5000/app:1",
    "127.0.0.1:5000/a/b/c:x_1, 127.0.0.1:5000/a/b/c:x_1, 127.0.0.1:5000/a/b/c:x_1",
    "Registry.Example.com/app, registry.example.com/app:latest, registry.example.com/app:latest",
    "[::1]:5000/app, [::1]:5000/app:latest, [::1]:5000/app:latest",
    "a__b/c--d.e_f, docker.io/a__b/c--d.e_f:latest, a__b/c--d.e_f:latest"
  })
  void parsesToTheCanonicalAndTheFamiliarForm(String text, String canonical, String familiar) {
    ImageRef ref = ImageRef.parse(text);

    assertThat(ref.canonical()).isEqualTo(canonical);
    assertThat(ref.familiar()).isEqualTo(familiar);
    assertThat(ImageRef.parse(canonical)).isEqualTo(ref);
    assertThat(ImageRef.parse(familiar)).isEqualTo(ref);
  }

  @Test
  void aDigestDecidesAndTheTagIsKeptForPeople() {
    ImageRef both = ImageRef.parse("nginx:1.27@" + SHA);

    assertThat(both.canonical()).isEqualTo("docker.io/library/nginx@" + SHA);
    assertThat(both.familiar()).isEqualTo("nginx:1.27@" + SHA);
    assertThat(both.selector()).isEqualTo(SHA);
    assertThat(both).isEqualTo(ImageRef.parse("nginx@" + SHA));
    assertThat(ImageRef.parse("nginx@" + SHA).tag()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "nginx ",
        "Nginx",
        "a//b",
        "/a",
        "a/",
        "a:",
        ":tag",
        "a:b:c",
        "a@b",
        "a@sha256:12",
        "a@md5:d41d8cd98f00b204e9800998ecf8427e",
        "-a",
        "a-",
        "a..b",
        "a___b",
        "a/../b",
        "host:99999999/a",
        "a:-tag",
        "http://example.com/a",
        "a:tag@",
        "a b"
      })
  void refusesWhatIsNoReference(String text) {
    assertThatThrownBy(() -> ImageRef.parse(text)).isInstanceOf(AgentException.InvalidSpec.class);
  }

  @Test
  void saysWhatIsWrong() {
    assertThatThrownBy(() -> ImageRef.parse("MyApp")).hasMessageContaining("lower case");
    assertThatThrownBy(() -> ImageRef.parse("a".repeat(300))).hasMessageContaining("255");
    for (String part : List.of("-a", "/a", ".a", "__a")) {
      assertThatThrownBy(() -> ImageRef.parse("a" + part.repeat(200_000)))
          .as("deeper than any stack")
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining("255")
          .message()
          .hasSizeLessThan(200);
    }
    assertThatThrownBy(() -> ImageRef.parse("a:" + "t".repeat(129))).hasMessageContaining("tag");
  }

  /** The index on disk keeps the canonical form: it has to mean the same when it is read again. */
  @Test
  void theCanonicalFormMeansTheSame() {
    for (String text :
        java.util.List.of("DOCKER.IO/app", "Index.Docker.IO/app", "Reg.Example:5000/a/b")) {
      ImageRef ref = ImageRef.parse(text);
      assertThat(ImageRef.parse(ref.canonical())).isEqualTo(ref);
    }
    assertThat(ImageRef.parse("DOCKER.IO/app")).isEqualTo(ImageRef.parse("app"));
    assertThatThrownBy(() -> ImageRef.parse("W-00/a/a"))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("a registry host has a dot or a port");
  }
}
