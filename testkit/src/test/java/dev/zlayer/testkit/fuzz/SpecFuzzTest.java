package dev.zlayer.testkit.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.YamlJson;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Deployment files and other YAML, damaged. */
class SpecFuzzTest {
  private static final List<String> WORDS =
      List.of(
          "&a ",
          "*a",
          "<<: ",
          "- ",
          ": ",
          "? ",
          "| ",
          "> ",
          "!!binary ",
          "!!set ",
          "!!int ",
          "---\n",
          "...\n",
          "%YAML 1.2\n",
          "{",
          "}",
          "[",
          "]",
          "\"",
          "'",
          "#",
          "\n",
          "\n  ",
          "\t",
          "~",
          "null",
          "true",
          "0x10",
          "1e999",
          "-1",
          "9223372036854775808",
          ".nan",
          "\\u0000",
          "\u00e9",
          "${HOME}",
          "services:",
          "image:",
          "command:",
          "version:",
          "50%",
          "10s",
          "2000000000y",
          "5Gi",
          "@daily",
          "* * * * *",
          "127.0.0.1:80:80/udp",
          "..",
          "/");

  private static final String FILE =
      """
      version: v1
      deployment: shop
      services:
        web:
          image: {name: "nginx:1.27", pull_policy: always}
          command: {args: [serve, "--port", "80"]}
          env: {A: b, C: "${D}"}
          endpoints: [{name: http, port: 80, protocol: http}]
          depends: [{service: db, condition: healthy}]
          health:
            check: {type: http, url: "http://localhost/health"}
            interval: 10s
          resources: {cpu: 0.5, memory: 128Mi}
          storage: [{type: bind, source: /srv, target: /srv, readonly: true}]
        db:
          image: {name: "db:1"}
        nightly:
          rtype: cron
          schedule: "0 3 * * *"
          image: {name: "job:1"}
      """;

  private static final String OTHER =
      """
      defaults: &all {a: 1, b: [x, y]}
      one: *all
      text: |
        several
        lines
      folded: >-
        one
        line
      set: {true: no, 1.5: "2", ~: null}
      """;

  @Test
  void deploymentFilesAreReadOrTheirProblemsSaid() {
    new Fuzzer(
            "fuzz/spec",
            2500,
            List.of(Fuzzer.utf8(FILE), Fuzzer.utf8(OTHER)),
            WORDS,
            _ -> false,
            input -> {
              SpecResult result = SpecReader.read("fuzz", input);
              if (result instanceof SpecResult.Invalid(var problems)) {
                assertThat(problems.toString()).isNotBlank();
              }
            })
        .run();
  }

  @Test
  void otherYamlIsReadOrRefused() {
    new Fuzzer(
            "fuzz/yaml",
            2500,
            List.of(Fuzzer.utf8(OTHER), Fuzzer.utf8(FILE)),
            WORDS,
            AgentException.InvalidSpec.class::isInstance,
            input -> YamlJson.parse(new String(input, StandardCharsets.UTF_8)))
        .run();
  }
}
