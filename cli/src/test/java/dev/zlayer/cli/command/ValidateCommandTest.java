package dev.zlayer.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ValidateCommandTest {
  private static final String GOOD =
      """
      version: v1
      deployment: shop
      services:
        web:
          image: {name: nginx}
        tidy:
          rtype: job
          image: {name: nginx}
      """;

  @TempDir Path directory;

  private CliFixture.Result run(String... arguments) {
    return new CliFixture(directory, Map.of()).run(arguments);
  }

  private void write(String name, String content) throws IOException {
    Files.writeString(directory.resolve(name), content);
  }

  @Test
  void everyExampleIsRight() throws IOException {
    Path examples = Path.of("..").resolve("examples").toAbsolutePath();
    String[] files;
    try (Stream<Path> found = Files.list(examples)) {
      files =
          found
              .map(Path::toString)
              .filter(name -> name.endsWith(".zlayer.yml"))
              .toArray(String[]::new);
    }
    assertThat(files).hasSizeGreaterThanOrEqualTo(6);

    var result = run(Stream.concat(Stream.of("validate"), Stream.of(files)).toArray(String[]::new));

    assertThat(result.code()).as(result.out()).isZero();
    assertThat(result.out().lines().filter(line -> line.contains(": ok, "))).hasSize(files.length);
  }

  @Test
  void controlCharactersOfAFileNeverReachTheTerminal() throws IOException {
    write("bad.zlayer.yml", "version: v1\ndeployment: shop\n\"ke\\x1b[2Jy\\x9b\": 1\n");

    var result = run("validate", "bad.zlayer.yml");

    assertThat(result.code()).isEqualTo(2);
    assertThat(result.out()).contains("ke\\u001b[2Jy\\u009b").doesNotContain("\033", "\u009b");
    assertThat(run("validate", "none\033]0;x\007.yml").err())
        .contains("none\\u001b]0;x\\u0007.yml")
        .doesNotContain("\033", "\007");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "web: {image: a, health: {check: {type: http, url:"
            + " 'http://localhost:8080/health?q=aPIPEb'}}} | services.web.health.check.url | write"
            + " special characters as %XX",
        "web: {rtype: job, image: a, job: {deadline: 2000000000y}} | services.web.job.deadline |"
            + " 2000000000y",
        "'web: {rtype: cron, schedule: \"@daily\", image: a, cron: {jitter: 300y}}' |"
            + " services.web.cron.jitter | 300y",
      })
  void valuesThatWouldBreakTheAgentAreRefused(String service, String path, String reason)
      throws IOException {
    String text = service.replace("PIPE", "|");
    write("bad.zlayer.yml", "version: v1\ndeployment: shop\nservices:\n  " + text + "\n");

    CliFixture.Result result = run("validate", "bad.zlayer.yml");

    assertThat(result.code()).as(result.out()).isEqualTo(2);
    assertThat(result.out())
        .containsPattern("bad\\.zlayer\\.yml:4:\\d+: " + Pattern.quote(path) + ": ")
        .contains(reason);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'rtype: job, depends: [other]' | depends",
        "'rtype: job, endpoints: [{name: a, protocol: tcp, port: 80}]' | endpoints",
        "'rtype: job, errors: {on_panic: {action: isolate}}' | errors.on_panic",
        "'scale: {mode: adaptive, min: 0}' | scale.min",
        "'scale: {mode: adaptive, targets: {memory: 80}}' | scale.targets.memory",
        "'rtype: job, logs: {destination: memory}' | logs.destination",
      })
  void whatNothingActsOnIsReportedWithItsPosition(String keys, String path) throws IOException {
    write(
        "odd.zlayer.yml",
        "version: v1\ndeployment: shop\nservices:\n  web: {image: a, %s}\n  other: {image: a}\n"
            .formatted(keys));

    CliFixture.Result result = run("validate", "odd.zlayer.yml");
    assertThat(result.code()).as("'up' would refuse it").isEqualTo(2);
    assertThat(result.out())
        .containsPattern(
            "odd\\.zlayer\\.yml:4:\\d+: .*" + Pattern.quote("services.web." + path) + ": ");
  }

  @Test
  void aRightFileIsOneLine() throws IOException {
    write("shop.zlayer.yml", GOOD);

    assertThat(run("validate", "shop.zlayer.yml"))
        .isEqualTo(
            new CliFixture.Result(
                0, "shop.zlayer.yml: ok, deployment 'shop': 1 service, 1 job\n", ""));
    assertThat(run("validate").out()).isEqualTo(run("validate", "shop.zlayer.yml").out());
    assertThat(run("validate", "--quiet", "shop.zlayer.yml").out()).isEmpty();
  }

  @Test
  void tenMistakesAreTenLinesWithTheirPositions() throws IOException {
    write(
        "bad.zlayer.yml",
        """
        version: v2
        deployment: shop
        services:
          web:
            image: {name: "Not An Image"}
            imagee: 1
            env: {PORT: 8080}
            depends: [{service: nobody}]
            endpoints: [{name: a, protocol: http, port: 70000}]
            resources: {memory: lots}
          tick:
            rtype: cron
            image: {name: nginx}
          job:
            schedule: "@daily"
            image: {name: nginx}
            health: {check: {type: telepathy}}
        """);

    var result = run("validate", "bad.zlayer.yml");

    assertThat(result.code()).isEqualTo(2);
    assertThat(
            result.out().lines().map(line -> line.replaceFirst("^bad.zlayer.yml:(\\d+):.*", "$1")))
        .containsExactly(
            "1", "5", "6", "7", "8", "9", "10", "11", "15", "17", "bad.zlayer.yml: 10 problems");
    assertThat(result.out())
        .contains("bad.zlayer.yml:6:5: services.web.imagee: ")
        .contains("did you mean")
        .contains("bad.zlayer.yml:8:25: services.web.depends[0].service: ");
  }

  @Test
  void whatUpWouldRefuseIsRefused() throws IOException {
    write("shop.zlayer.yml", GOOD.replace("web:\n", "web:\n    ipc_mode: none\n"));

    var result = run("validate", "shop.zlayer.yml");

    assertThat(result.code()).isEqualTo(2);
    assertThat(result.out())
        .isEqualTo(
            "shop.zlayer.yml:5:15: services.web.ipc_mode: a container always has shared memory of"
                + " its own, write private\nshop.zlayer.yml: 1 problem\n");
  }

  @Test
  void usersOfItsOwnExcludeWhatIsTheHosts() throws IOException {
    write(
        "shop.zlayer.yml",
        GOOD.replace(
            "web:\n",
            "web:\n    userns_mode: private\n    privileged: true\n    pid_mode: host\n"
                + "    ipc_mode: host\n    network_mode: host\n"));

    var result = run("validate", "shop.zlayer.yml");

    assertThat(result.code()).isEqualTo(2);
    assertThat(result.out())
        .startsWith(
            "shop.zlayer.yml:5:18: services.web.userns_mode: users of its own cannot be combined"
                + " with privileged, pid_mode: host, ipc_mode: host, network_mode: host, write host"
                + " or remove them\n");
  }

  @Test
  void jsonTellsTheSame() throws IOException {
    write("shop.zlayer.yml", GOOD);
    write("bad.zlayer.yml", GOOD.replace("v1", "v9"));

    var result = run("validate", "--json", "shop.zlayer.yml", "bad.zlayer.yml");
    Json json = JsonText.parse(result.out());

    assertThat(result.code()).isEqualTo(2);
    assertThat(json.items().get(0).at("valid").bool()).contains(true);
    assertThat(json.items().get(1).at("problems").items().getFirst().at("line").integer())
        .contains(1L);
  }

  @Test
  void standardInputIsAFileToo() {
    var result =
        new CliFixture(directory, Map.of())
            .runWithInput(GOOD.getBytes(StandardCharsets.UTF_8), "validate", "-");

    assertThat(result.out()).isEqualTo("-: ok, deployment 'shop': 1 service, 1 job\n");
  }

  @Test
  void absentAndAmbiguousFilesAreSaid() throws IOException {
    assertThat(run("validate").err()).contains("there is no *.zlayer.yml");
    assertThat(run("validate", "none.yml").err()).contains("'none.yml'").contains("no such file");
    assertThat(run("validate", "none.yml").code()).isEqualTo(2);
    assertThat(run("validate", ".").code()).isEqualTo(2);

    write("a.zlayer.yml", GOOD);
    write("b.zlayer.yml", GOOD);
    assertThat(run("validate").err()).contains("name one: a.zlayer.yml, b.zlayer.yml");
  }

  @Test
  void schemaAndReferenceArePrinted() {
    assertThat(JsonText.parse(run("spec", "schema").out()).at("title").string()).isPresent();
    assertThat(run("spec", "reference").out()).startsWith("#");
    assertThat(run("spec", "nonsense").code()).isEqualTo(2);
  }
}
