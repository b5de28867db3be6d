package dev.zlayer.daemon.docker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.json.Json;
import dev.zlayer.port.ContainerRuntime;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** docs/docker.md lists every route and every field, as the code has them. */
class DockerReferenceTest {
  private static final Path PAGE =
      Path.of("").toAbsolutePath().getParent().resolve("docs/docker.md");
  private static final String BEGIN = "<!-- routes and fields: made from the code -->\n";

  /** Enough to ask for the routes; nothing is called. */
  private static List<Resource> resources() {
    var runtime =
        (ContainerRuntime)
            Proxy.newProxyInstance(
                ContainerRuntime.class.getClassLoader(),
                new Class<?>[] {ContainerRuntime.class},
                (_, _, _) -> null);
    return new DockerResources(
            "1",
            AgentConfig.under(Path.of("/nowhere")),
            runtime,
            null,
            null,
            null,
            null,
            null,
            Optional.empty(),
            null,
            null,
            null,
            InstantSource.system())
        .all();
  }

  private static String markdown() {
    var text = new StringBuilder(BEGIN);
    for (Resource resource : resources()) {
      text.append("\n### ").append(resource.title()).append("\n\n| route | |\n|---|---|\n");
      for (Route route : resource.routes()) {
        text.append(
            "| `%s %s` | %s |\n".formatted(route.method(), route.template(), route.summary()));
      }
    }
    for (String section : List.of("Config", "HostConfig")) {
      text.append(
          "\n### `POST /containers/create`: fields of %s\n\n| field | | |\n|---|---|---|\n"
              .formatted(section.equals("Config") ? "the body" : "`HostConfig`"));
      for (CreateFields.Field field : CreateFields.all()) {
        if (field.section().equals(section)) {
          String accepted =
              field.accepted().isEmpty()
                  ? ""
                  : " (as the default: `%s`)".formatted(String.join("`, `", field.accepted()));
          text.append(
              "| `%s` | %s | %s%s |\n"
                  .formatted(
                      field.name(),
                      field.support().name().toLowerCase(Locale.ROOT),
                      field.note(),
                      accepted));
        }
      }
    }
    return text.toString();
  }

  @Test
  void thePageIsUpToDate() throws Exception {
    String page = Files.readString(PAGE);
    String head = page.substring(0, page.indexOf(BEGIN));
    if (System.getenv("ZLAYER_UPDATE_DOCS") != null) {
      Files.writeString(PAGE, head + markdown());
    }
    assertThat(Files.readString(PAGE))
        .as("docs/docker.md is out of date: run this test with ZLAYER_UPDATE_DOCS=1")
        .isEqualTo(head + markdown());
  }

  @Test
  void noRouteIsThereTwice() {
    var seen = new HashSet<String>();
    for (Resource resource : resources()) {
      for (Route route : resource.routes()) {
        assertThat(seen.add(route.method() + " " + route.template()))
            .as(route.method() + " " + route.template())
            .isTrue();
      }
    }
    assertThat(seen).hasSizeGreaterThan(40);
  }

  /** Each field that is refused is refused by its name, and its default is not. */
  @Test
  void everyFieldIsHonouredOrRefusedByItsName() {
    for (CreateFields.Field field : CreateFields.all()) {
      Json value = Json.of(List.of("something"));
      Json.Obj body = body(field, value);
      if (field.support() == CreateFields.Support.REFUSED) {
        org.assertj.core.api.Assertions.assertThatThrownBy(() -> CreateFields.checked(body))
            .isInstanceOf(DockerError.class)
            .hasMessageContaining(field.section() + "." + field.name());
        for (String accepted : field.accepted()) {
          assertThat(CreateFields.checked(body(field, Json.of(accepted)))).isNotNull();
        }
      } else {
        assertThat(CreateFields.checked(body)).isNotNull();
      }
      for (Object zero : List.of("", 0, false, List.of(), java.util.Map.of())) {
        assertThat(CreateFields.checked(body(field, Json.of(zero)))).isNotNull();
      }
    }
  }

  private static Json.Obj body(CreateFields.Field field, Json value) {
    Json.Obj one = Json.object().put(field.name(), value).build();
    return field.section().equals("Config") ? one : Json.object().put("HostConfig", one).build();
  }
}
