package dev.zlayer.spec.read;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.spec.problem.Problem;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** SpecFiles made to hurt are refused quickly and with a reason. */
class HostileFilesTest {
  private static void refused(byte[] content, String reason) {
    SpecResult result = SpecFiles.readQuickly(content, "a file that is refused");
    assertThat(result).isInstanceOf(SpecResult.Invalid.class);
    List<Problem> problems = ((SpecResult.Invalid) result).problems();
    assertThat(problems).hasSizeBetween(1, 501);
    assertThat(problems).extracting(Problem::message).anyMatch(text -> text.contains(reason));
  }

  private static void refused(String content, String reason) {
    refused(content.getBytes(StandardCharsets.UTF_8), reason);
  }

  @Test
  void aliasBomb() {
    var text = new StringBuilder("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 30; i++) {
      text.append("a%d: &a%d [".formatted(i, i));
      text.append(("*a%d, ".formatted(i - 1)).repeat(10)).append("x]\n");
    }
    refused(text.toString(), "when all aliases are written out");
  }

  @Test
  void mergeBomb() {
    var text = new StringBuilder("a0: &a0 {k0: 1, k1: 2}\n");
    for (int i = 1; i < 30; i++) {
      text.append("a%d: &a%d {<<: [".formatted(i, i));
      text.append(("*a%d, ".formatted(i - 1)).repeat(10)).append("*a0]}\n");
    }
    refused(text.toString(), "when all aliases are written out");
  }

  @ParameterizedTest
  @ValueSource(strings = {"[", "{a: ", "- ", "? ", "{? ", "[{a: ["})
  void deepNesting(String opening) {
    refused("version: v1\nx:\n  " + opening.repeat(100_000), "nested deeper");
  }

  @Test
  void hugeFile() {
    refused("# " + "x".repeat(2 << 20), "more than the limit");
  }

  @Test
  void manyValues() {
    refused("x: [" + "1,".repeat(300_000) + "]", "more than 1000 entries");
    refused(("x: [" + "[1,1,1,1,1],".repeat(900) + "]\n").repeat(60), "is written twice");
    refused("x: [" + ("[" + "1,".repeat(900) + "],").repeat(90) + "]", "values");
  }

  @Test
  void manyUnknownKeys() {
    var text = new StringBuilder("version: v1\ndeployment: shop\n");
    for (int i = 0; i < 900; i++) {
      text.append("k").append(i).append(": 1\n");
    }
    refused(text.toString(), "only the first are shown");
  }

  @Test
  void manyAliasesOfAWrongService() {
    var text = new StringBuilder("version: v1\ndeployment: shop\nservices:\n  s: &s {imag: x}\n");
    for (int i = 0; i < 990; i++) {
      text.append("  s").append(i).append(": *s\n");
    }
    refused(text.toString(), "did you mean 'image'?");
  }

  @Test
  void manyServices() {
    var text = new StringBuilder("version: v1\ndeployment: shop\nservices:\n  s: &s {image: x}\n");
    for (int i = 0; i < 40_000; i++) {
      text.append("  s").append(i).append(": *s\n");
    }
    refused(text.toString(), "more than 1000 entries");
  }

  @Test
  void longDependencyChain() {
    var text = new StringBuilder("version: v1\ndeployment: shop\nservices:\n");
    for (int i = 0; i < 900; i++) {
      text.append("  s%d: {image: a, depends: [s%d]}\n".formatted(i, (i + 1) % 900));
    }
    refused(text.toString(), "closes the circle s0 -> s1 -> ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "version: !!javax.script.ScriptEngineManager [x]",
        "version: !<tag:example.org,2026:x> v1",
        "%TAG ! tag:example.org,2026:\n---\nversion: !thing v1",
        "!!set {a, b}",
        "version: !!binary aGVsbG8=",
        "version: !!timestamp 2026-01-01",
      })
  void foreignTags(String text) {
    refused(text, "is not known, write the value without it");
  }

  @ParameterizedTest
  @ValueSource(strings = {"a: &a [*a]", "a: &a {b: *a}", "a: &a {<<: *a}", "&a [*a]"})
  void loops(String text) {
    refused(text, "cannot contain itself");
  }

  @ParameterizedTest
  @ValueSource(strings = {"UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32", "UTF-32LE", "UTF-32BE"})
  void otherEncodings(String name) {
    byte[] content = "version: v1\ndeployment: shop\n".getBytes(Charset.forName(name));
    refused(content, name.equals("UTF-16") ? "save it as UTF-8" : "");
  }

  @Test
  void byteOrderMarkOfUtf8IsHarmless() {
    assertThat(SpecFiles.valid("\uFEFFversion: v1\ndeployment: shop\n").remarks()).isEmpty();
  }

  @Test
  void brokenUtf8IsLocated() {
    byte[] content = "version: v1\ndeployment: sh?p\n".getBytes(StandardCharsets.UTF_8);
    content[content.length - 3] = (byte) 0xC3;
    refused(content, "not UTF-8");
    var result = (SpecResult.Invalid) SpecReader.read("f", content);
    assertThat(result.problems().getFirst().toString()).startsWith("f:2:15: ");
  }

  @Test
  void controlCharactersAreLocated() {
    refused("version: v1\nx: \0", "control character (code 0)");
    assertThat(SpecFiles.problems("version: v1\nx: \0").getFirst())
        .startsWith("test.zlayer.yml:2:4: ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "\n\n", "# only a comment\n", "---\n...\n", "text", "[]", "5", "null"})
  void filesWithoutContent(String text) {
    refused(text, "");
  }

  @Test
  void longKeysAndValuesAreCutInMessages() {
    String text = "version: v1\ndeployment: shop\n" + "k".repeat(900) + ": " + "v".repeat(500_000);
    assertThat(SpecFiles.problems(text)).hasSize(1).allMatch(line -> line.length() < 300);
    assertThat(SpecFiles.problems("version: " + "v".repeat(500_000)))
        .allMatch(line -> line.length() < 300);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "storage: [{type: bind, source: \"/tmp/\\0x\", target: /m}]",
        "storage: [{type: bind, source: /tmp, target: \"/m\\0x\"}]",
        "security_opt: [\"seccomp=/x\\0y\"]",
        "env: {A: \"x\\0y\"}",
        "env: {\"A\\0\": x}",
        "labels: {a: \"\\u0000\"}"
      })
  void textWithNulIsLocated(String line) {
    String head = "version: v1\ndeployment: shop\nservices:\n  web:\n    image: web\n    ";
    refused(head + line + "\n", "has a NUL character");
  }

  @Test
  void pathsLongerThanTheStackAreAnswered() {
    for (String part : List.of("/", "/.", "/a")) {
      String target = part.repeat(150_000);
      String text =
          """
          version: v1
          deployment: shop
          services:
            web:
              image: web
              storage: [{type: tmpfs, target: "%1$s"}, {type: tmpfs, target: "%1$s/x"}]
          """
              .formatted(target);
      assertThat(SpecFiles.readQuickly(text.getBytes(StandardCharsets.UTF_8), text)).isNotNull();
    }
  }

  @Test
  void everyBytePrefixOfAnExampleIsAnswered() {
    byte[] content = SpecFiles.bytes(SpecFiles.EXAMPLES.resolve("shop.zlayer.yml"));
    for (int length = 0; length < content.length; length += 29) {
      assertThat(SpecReader.read("f", Arrays.copyOf(content, length))).isNotNull();
    }
  }
}
