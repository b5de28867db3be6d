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
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
            new ReplicaEvents(InstantSource.system()),
            Optional.empty(),
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
    String before = "";
    for (RequestFields.Field field : RequestFields.all()) {
      if (!field.route().equals(before)) {
        text.append("\n### `%s`: parameters\n\n| | | |\n|---|---|---|\n".formatted(field.route()));
        before = field.route();
      }
      text.append(
          "| `%s%s` | %s | %s |\n"
              .formatted(
                  field.query() ? "?" : "",
                  field.name(),
                  field.support().name().toLowerCase(Locale.ROOT).replace('_', ' '),
                  field.note()));
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

  /** What a route reads is found in the source of its resource. */
  private static final Pattern READ =
      Pattern.compile(
          "(?:(?:DockerQuery\\.(?:text|flag|number|time)|json)\\(\\s*call,|call\\.(?:queries|query|required)\\()"
              + "\\s*\"([A-Za-z_-]+)\"");

  private static final Pattern BODY = Pattern.compile("body\\.at\\(\"([A-Za-z0-9]+)\"\\)");

  private static final Pattern WORD = Pattern.compile("\"([A-Za-z0-9_-]+)\"");

  private static final Path SOURCES =
      Path.of("").toAbsolutePath().resolve("src/main/java/dev/zlayer/daemon/docker");

  private static Set<String> found(Pattern pattern, String source) {
    var names = new TreeSet<String>();
    Matcher matcher = pattern.matcher(source);
    while (matcher.find()) {
      names.add(matcher.group(1));
    }
    return names;
  }

  /** Whatever the code reads from a request is in the list, and so in the reference. */
  @Test
  void whatIsReadIsListedAndWhatIsListedIsRead() throws Exception {
    var routes = new HashSet<String>();
    for (Resource resource : resources()) {
      String source =
          Files.readString(SOURCES.resolve(resource.getClass().getSimpleName() + ".java"));
      if (resource instanceof DockerNetworks) {
        source += Files.readString(SOURCES.resolve("EndpointOptions.java"));
      }
      var listed = new TreeSet<String>();
      var fields = new TreeSet<String>();
      var honoured = new TreeSet<String>();
      for (Route route : resource.routes()) {
        String name = route.method() + " " + route.template();
        routes.add(name);
        for (RequestFields.Field field : RequestFields.all()) {
          if (field.route().equals(name)) {
            (field.query() ? listed : fields).add(field.name());
            if (field.support() == RequestFields.Support.HONOURED) {
              honoured.add(field.name().substring(field.name().lastIndexOf('.') + 1));
            }
          }
        }
      }
      assertThat(listed).as(resource.title()).containsAll(found(READ, source));
      if (resource instanceof DockerContainers) {
        continue; // its bodies are those of CreateFields
      }
      assertThat(fields).as(resource.title()).containsAll(found(BODY, source));
      Set<String> words = found(WORD, source);
      honoured.removeIf(name -> name.equals("filters") || AUTH.contains(name));
      assertThat(words).as(resource.title()).containsAll(honoured);
    }
    assertThat(routes)
        .containsAll(RequestFields.all().stream().map(RequestFields.Field::route).toList());
  }

  /** Read by {@link RegistryHeader}. */
  private static final Set<String> AUTH = Set.of("username", "password", "identitytoken");

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
