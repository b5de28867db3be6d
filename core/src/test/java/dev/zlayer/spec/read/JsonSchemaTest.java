package dev.zlayer.spec.read;

import static org.assertj.core.api.Assertions.assertThat;

import com.networknt.schema.InputFormat;
import com.networknt.schema.SchemaLocation;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonSchemaTest {
  private static final String START = "version: v1\ndeployment: shop\nservices:\n  web:\n";

  @Test
  void isValidAgainstTheMetaschema() {
    var meta =
        SpecFiles.registry()
            .getSchema(SchemaLocation.of("https://json-schema.org/draft/2020-12/schema"));
    assertThat(meta.validate(JsonSchema.generate(), InputFormat.JSON)).isEmpty();
    assertThat(meta.validate("{\"type\": 5}", InputFormat.JSON)).isNotEmpty();
  }

  @Test
  void everyKeyHasADescription() {
    var undocumented = properties(JsonText.parse(JsonSchema.generate()), "").toList();
    assertThat(undocumented).isEmpty();
  }

  /** Paths of properties that have neither a text nor a fixed word. */
  private static Stream<String> properties(Json schema, String path) {
    Stream<String> own =
        schema.at("properties").members().entrySet().stream()
            .filter(entry -> !path.contains("/allOf") && !path.contains("/oneOf"))
            .filter(entry -> !entry.getKey().equals("with"))
            .filter(entry -> entry.getValue().at("description").isNull())
            .map(entry -> path + "/" + entry.getKey());
    Stream<String> members =
        schema.members().entrySet().stream()
            .flatMap(entry -> properties(entry.getValue(), path + "/" + entry.getKey()));
    Stream<String> items = schema.items().stream().flatMap(item -> properties(item, path));
    return Stream.of(own, members, items).flatMap(each -> each);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "    image: nginx\n",
        "    image: {name: nginx}\n    command: [a, b]\n",
        "    image: {name: nginx}\n    affinity: spread\n",
        "    image: {name: nginx}\n    affinity: {pin: id=2}\n",
        "    image: {name: nginx}\n    affinity: !pin id=2\n",
        "    image: {name: nginx}\n    stop_grace_period: 30\n",
        "    image: {name: nginx}\n    ulimits: {nofile: 10, core: {hard: 0}}\n",
        "    image: {name: nginx}\n    depends: [db]\n  db:\n    image: nginx\n",
        "    image: {name: nginx}\n    scale: {mode: manual}\n",
        "    image: {name: nginx}\n    platform: {os: darwin, arch: arm64}\n",
      })
  void readerAndSchemaAgreeOnGoodFiles(String service) {
    assertThat(SpecFiles.problems(START + service)).isEmpty();
    assertThat(schemaErrors(START + service)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "    image: 5\n",
        "    image: {}\n",
        "    image: {name: nginx}\n    command: a b\n",
        "    image: {name: nginx}\n    affinity: {pin: 5}\n",
        "    image: {name: nginx}\n    affinity: {spread: x, pack: y}\n",
        "    image: {name: nginx}\n    storage: [{type: named, target: /x}]\n",
        "    image: {name: nginx}\n    storage: [{type: tmpfs, target: /x, source: /y}]\n",
        "    image: {name: nginx}\n    env: {A: 5}\n",
        "    image: {name: nginx}\n    scale: {mode: fixed}\n",
        "    image: {name: nginx}\n    health: {retries: 0}\n",
      })
  void readerAndSchemaAgreeOnBadFiles(String service) {
    assertThat(SpecFiles.problems(START + service)).isNotEmpty();
    assertThat(schemaErrors(START + service)).isNotEmpty();
  }

  private static List<String> schemaErrors(String text) {
    return SpecFiles.schemaErrors(SpecFiles.schema(), text.getBytes(StandardCharsets.UTF_8));
  }
}
