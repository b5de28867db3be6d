package dev.zlayer.image.archive;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConfigChangeTest {
  private static String applied(String config, String... changes) {
    Map<String, Json> result = JsonText.parse(config).members();
    for (String change : changes) {
      result = ConfigChange.parse(change).apply(result);
    }
    return JsonText.print(new Json.Obj(result));
  }

  @Test
  void commandsAreListsOrLinesForTheShell() {
    assertThat(applied("{}", "CMD [\"a\", \"b c\"]")).isEqualTo("{\"Cmd\":[\"a\",\"b c\"]}");
    assertThat(applied("{}", "cmd echo $HOME"))
        .isEqualTo("{\"Cmd\":[\"/bin/sh\",\"-c\",\"echo $HOME\"]}");
    assertThat(applied("{\"Cmd\":[\"old\"]}", "ENTRYPOINT [\"run\"]"))
        .as("the old command belonged to the old entrypoint")
        .isEqualTo("{\"Entrypoint\":[\"run\"]}");
  }

  @Test
  void variablesAndLabelsAreMerged() {
    assertThat(applied("{\"Env\":[\"A=1\",\"B=2\"]}", "ENV B=3 C=\"x \\\"y\\\"\"", "ENV D e f"))
        .isEqualTo("{\"Env\":[\"A=1\",\"B=3\",\"C=x \\\"y\\\"\",\"D=e f\"]}");
    assertThat(applied("{\"Labels\":{\"k\":\"v\"}}", "LABEL k=w l="))
        .isEqualTo("{\"Labels\":{\"k\":\"w\",\"l\":\"\"}}");
  }

  @Test
  void valuesLongerThanTheStackAreRead() {
    String text = "a\\\"b ".repeat(100_000);
    assertThat(ConfigChange.parse("ENV A=\"" + text + "\" B=2").apply(Map.of()).get("Env"))
        .isNotNull()
        .satisfies(
            env -> assertThat(env.strings()).containsExactly("A=" + text.replace("\\", ""), "B=2"));
    assertThatThrownBy(() -> ConfigChange.parse("ENV A=\"" + text))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }

  @Test
  void theRestIsSet() {
    assertThat(applied("{}", "EXPOSE 80 53/udp", "VOLUME /data"))
        .isEqualTo("{\"ExposedPorts\":{\"80/tcp\":{},\"53/udp\":{}},\"Volumes\":{\"/data\":{}}}");
    assertThat(applied("{}", "USER 7:8", "WORKDIR /w", "STOPSIGNAL SIGINT"))
        .isEqualTo("{\"User\":\"7:8\",\"WorkingDir\":\"/w\",\"StopSignal\":\"SIGINT\"}");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          COPY a b        | 'COPY' is not one of CMD, ENTRYPOINT
          CMD             | CMD needs a value
          CMD ["a", 1]    | the list is not JSON with strings
          ENV A           | 'A' has no value
          ENV A=1 B       | 'B' is not NAME=value
          EXPOSE 70000    | '70000' is not PORT
          WORKDIR here    | 'here' is not an absolute path
          []              | write an instruction such as
          """)
  void whatIsWrongIsSaidBeforeAnythingIsMade(String change, String reason) {
    assertThatThrownBy(() -> ConfigChange.parse(change))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("change '" + change + "': ")
        .hasMessageContaining(reason);
  }
}
