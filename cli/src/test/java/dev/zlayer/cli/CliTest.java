package dev.zlayer.cli;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.terminal.Terminal;
import dev.zlayer.error.Blame;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class CliTest {
  @TempDir Path directory;

  private CliFixture.Result run(String... arguments) {
    return new CliFixture(
            directory, Map.of("ZLAYER_DATA_DIR", directory.resolve("data").toString()))
        .run(arguments);
  }

  @ParameterizedTest
  @ValueSource(strings = {"--help", "-h", "help"})
  void helpListsEveryVerbByGroup(String word) {
    var result = run(word);

    assertThat(result.code()).isZero();
    for (Verb verb : Verb.values()) {
      assertThat(result.out()).containsPattern("(?m)^  " + verb.word + " +[A-Z]");
    }
    assertThat(run()).isEqualTo(result);
  }

  @ParameterizedTest
  @EnumSource(Verb.class)
  void everyVerbExplainsItself(Verb verb) {
    var result = run(verb.word, "--help");

    assertThat(result.code()).isZero();
    assertThat(result.out()).startsWith("Usage: zlayer " + verb.word).contains("--help");
    assertThat(result.out().lines().toList()).as("nothing is broken").containsAll(footer(verb));
    assertThat(run("help", verb.word)).isEqualTo(result);
  }

  private List<String> footer(Verb verb) {
    return List.of(
        verb.make(CliFixture.session(directory), Optional.empty())
            .getCommandSpec()
            .usageMessage()
            .footer());
  }

  @Test
  void aTypoInAVerbGetsASuggestionAndExitCode2() {
    var result = run("versoin");

    assertThat(result.code()).isEqualTo(2);
    assertThat(result.out()).isEmpty();
    assertThat(result.err())
        .isEqualTo(
            "zlayer: unknown command 'versoin', did you mean 'version'?; "
                + "'zlayer --help' lists all\n");
  }

  @Test
  void aTypoBelowAGroupGetsASuggestionAndExitCode2() {
    var result = run("image", "lss");

    assertThat(result.code()).isEqualTo(2);
    assertThat(result.err())
        .contains("unknown command 'image lss', did you mean 'ls'?")
        .contains("'zlayer image --help' lists all");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "ps --al                 | unknown option '--al', did you mean --all?",
        "run                     | IMAGE is missing",
        "rename one              | NAME is missing",
        "run --name              | --name needs a value: NAME",
        "image load some.tar     | unexpected argument 'some.tar'",
        "logs --tail x web       | --tail 'x' is not a number",
        "events --tail x         | --tail 'x' is not a number",
        "spec foo                | FORM 'foo' is not one of schema, reference",
        "completions tcsh        | SHELL 'tcsh' is not one of bash, zsh, fish",
        "secret set token s3cret | a secret value cannot be an argument, other users could see"
            + " it; use standard input or --file",
      })
  void wordsThatDoNotFitAreToldInOurWords(String typed, String message) {
    String[] words = typed.split(" ");
    var result = run(words);

    assertThat(result.code()).isEqualTo(2);
    assertThat(result.err()).startsWith("zlayer: " + message + "\nsee 'zlayer " + words[0]);
  }

  @Test
  void aGroupAloneSaysWhatThereIs() {
    var result = run("job");

    assertThat(result.code()).isEqualTo(2);
    assertThat(result.err())
        .contains("ls, run, status, logs, history, queue, artifacts, rm, cancel");
    assertThat(run("job", "--help").out()).contains("cancel").contains("Cancel pending");
    assertThat(run("help", "job", "run").out()).startsWith("Usage: zlayer job run");
  }

  @Test
  void withoutADaemonItIsSaidHowToGetOne() {
    for (String[] command :
        new String[][] {{"ps"}, {"image", "ls"}, {"job", "run", "a/b"}, {"status"}}) {
      var result = run(command);
      assertThat(result.code()).isEqualTo(1);
      assertThat(result.err())
          .isEqualTo(
              "zlayer: no daemon is running at %s/data/run/zlayer.sock; start one with 'zlayer daemon start'\n"
                  .formatted(directory));
    }
    assertThat(run("daemon", "status").code()).isEqualTo(1);
    assertThat(run("daemon", "stop").err())
        .isEqualTo("no daemon at unix://%s/data/run/zlayer.sock\n".formatted(directory));
  }

  @Test
  void aDaemonElsewhereThatDoesNotAnswerIsSaid() {
    var result = new CliFixture(directory, Map.of("ZLAYER_HOST", "tcp://127.0.0.1:1")).run("ps");

    assertThat(result.code()).isEqualTo(4);
    assertThat(result.err()).contains("tcp://127.0.0.1:1").contains("ZLAYER_HOST");
  }

  @Test
  void dockersFlagsThatAreNotHonouredAreRefusedWithWhatToWrite() {
    var result = run("run", "--log-opt", "max-size=1m", "busybox");

    assertThat(result.code()).isEqualTo(2);
    assertThat(result.err()).contains("'--log-opt' is not supported").contains("zlayer up");
  }

  @Test
  void theUnitKeepsContainersAcrossRestarts() {
    var result = run("daemon", "install", "--print", "--stop-timeout", "2m");

    assertThat(result.code()).isZero();
    assertThat(result.out())
        .contains("KillMode=process\n")
        .contains("Delegate=yes\n")
        .contains("TimeoutStopSec=120s\n")
        .contains("Environment=\"ZLAYER_DATA_DIR=%s/data\"\nExecStart=".formatted(directory))
        .contains("Environment=\"JAVA_HOME=%s\"\n".formatted(System.getProperty("java.home")))
        .containsPattern("ExecStart=/\\S.* serve\n")
        .contains("Sockets=zlayer.socket\n")
        .contains("ListenStream=%s/data/run/zlayer.sock\n".formatted(directory));
  }

  @Test
  void theUnitHasEverySettingOfTheEnvironment() {
    String unit =
        new CliFixture(
                directory,
                Map.of(
                    "ZLAYER_DATA_DIR", "/srv/z",
                    "ZLAYER_LOG_LEVEL", "debug",
                    "ZLAYER_NETWORK_IPV6", "true"))
            .run("daemon", "install", "--print")
            .out();
    assertThat(unit)
        .contains("Environment=\"ZLAYER_DATA_DIR=/srv/z\"\n")
        .contains("Environment=\"ZLAYER_LOG_LEVEL=debug\"\n")
        .contains("Environment=\"ZLAYER_NETWORK_IPV6=true\"\n");
  }

  @Test
  void theUnitLinksTheSocketWhereClientsOfDockerLookForIt() {
    assertThat(run("daemon", "install", "--print").out()).doesNotContain("docker.sock");
    assertThat(run("daemon", "install", "--print", "--docker").out())
        .contains(
            ("ExecStartPost=/bin/sh -c 'test -e /var/run/docker.sock -a ! -L /var/run/docker.sock"
                    + " || ln -sfn \"$$0\" /var/run/docker.sock' %s/data/run/docker.sock\n")
                .formatted(directory));
  }

  @Test
  void theUnitHasAnyPathAsOneWord() throws Exception {
    Files.writeString(directory.resolve("100% my $HOME.yml"), "log_level: debug\n");
    assertThat(run("daemon", "install", "--print", "--config", "100% my $HOME.yml").out())
        .contains(" serve --config \"%s/100%%%% my $$HOME.yml\"\n".formatted(directory));
  }

  @Test
  void verbsOfDockerAreAnsweredWithTheirNamesHere() {
    assertThat(run("rmi", "x").err())
        .isEqualTo("zlayer: unknown command 'rmi'; use 'zlayer image rm'\n");
    assertThat(run("images").err()).contains("use 'zlayer image ls'");
    assertThat(run("buildx", "ls").err()).contains("use 'zlayer build'");
    assertThat(run("compose", "up").code()).isEqualTo(2);
    assertThat(run("strat", "x").err()).contains("did you mean 'start'?");
  }

  @Test
  void theUnitIsAsTheDocumentationStates() throws Exception {
    String unit = run("daemon", "install", "--print").out();
    String page =
        Files.readString(Path.of("").toAbsolutePath().getParent().resolve("docs/operations.md"));
    String section = page.substring(page.indexOf("### The unit"), page.indexOf("## Configuration"));
    List<String> directives =
        unit.substring(unit.indexOf("[Service]"), unit.indexOf("[Install]"))
            .lines()
            .filter(line -> line.matches("[A-Za-z]+=.*"))
            .filter(line -> !line.matches("(ExecStart|Environment)=.*"))
            .toList();
    assertThat(directives).hasSizeGreaterThan(12);
    for (String directive : directives) {
      boolean list = directive.startsWith("CapabilityBoundingSet=");
      assertThat(section).contains("`" + (list ? "CapabilityBoundingSet=" : directive) + "`");
    }
    String table = section.substring(0, section.indexOf("Capabilities: "));
    assertThat(Pattern.compile("`([A-Z][A-Za-z]+=)").matcher(table).results())
        .allSatisfy(stated -> assertThat(unit).contains("\n" + stated.group(1)));
    String bounding =
        directives.stream()
            .filter(line -> line.startsWith("CapabilityBoundingSet="))
            .findFirst()
            .orElseThrow()
            .substring("CapabilityBoundingSet=".length());
    assertThat(Pattern.compile("`(CAP_[A-Z_]+)`").matcher(section).results().map(m -> m.group(1)))
        .containsExactly(bounding.split(" "));
    assertThat(bounding)
        .doesNotContain("SYS_MODULE")
        .doesNotContain("SYS_BOOT")
        .doesNotContain("SYS_RAWIO")
        .doesNotContain("SYS_TIME");
    assertThat(run("daemon", "install", "--print", "--all-capabilities").out())
        .doesNotContain("CapabilityBoundingSet");
  }

  @Test
  void settingsTellWhereTheyComeFrom() {
    var shown = JsonText.parse(run("config", "show", "--json").out());

    assertThat(shown.at("data_dir").at("value").string())
        .contains(directory.resolve("data").toString());
    assertThat(shown.at("data_dir").at("source").string()).contains("variable ZLAYER_DATA_DIR");
    assertThat(run("config", "show").out()).contains("log_level").contains("default");
    var unset =
        JsonText.parse(
            new CliFixture(directory, Map.of("HOME", directory.toString()))
                .run("config", "show", "--local", "--json")
                .out());
    assertThat(unset.at("data_dir").at("source").string()).contains("default");
    assertThat(unset.at("config_dir").at("source").string()).contains("default");
  }

  @Test
  void theReferenceInTheDocumentationIsThatOfTheVerbs() throws Exception {
    Path file = Path.of("").toAbsolutePath().getParent().resolve("docs/cli.md");

    assertThat(file)
        .as("write it anew with: ./zlayer help --reference > docs/cli.md")
        .hasContent(run("help", "--reference").out());
  }

  @Test
  void everyVerbHasAManualPage(@TempDir Path directory) throws Exception {
    assertThat(run("help", "--man", directory.resolve("man1").toString()).code()).isZero();

    assertThat(directory.resolve("man1").toFile().list())
        .contains("zlayer.1", "zlayer-up.1", "zlayer-image-rm.1");
    String page = Files.readString(directory.resolve("man1/zlayer-run.1"));
    assertThat(page)
        .startsWith(".TH \"ZLAYER\\-RUN\" 1 ")
        .contains(".SH NAME\nzlayer\\-run \\- Run one container")
        .contains(".TP\n.B \\-m, \\-\\-memory ")
        .contains(".SH SEE ALSO\nzlayer(1)\n");
    assertThat(page.lines().filter(line -> line.startsWith(".") || line.startsWith("'")))
        .as("only requests begin with a dot")
        .allMatch(line -> line.matches("\\.(TH|SH|TP|B|nf|fi)( .*)?"));
    assertThat(run("help", "--man", "/proc/none").err())
        .startsWith("zlayer: cannot write manual pages to /proc/none");
  }

  @Test
  void aTypoInAnOptionGetsASuggestionAndExitCode2() {
    var result = run("version", "--jsno");

    assertThat(result.code()).isEqualTo(2);
    assertThat(result.err())
        .contains("--jsno")
        .contains("--json")
        .contains("zlayer version --help");
  }

  @Test
  void versionIsThatOfTheBuild() {
    assertThat(run("version").out()).matches("zlayer \\d+\\.\\d+\\.\\d+\\S* \\(java 25.*\\)\n");
    assertThat(JsonText.parse(run("version", "--json").out()).at("version").string()).isPresent();
    assertThat(run("--version").out()).isEqualTo(run("version").out());
  }

  @Test
  void infoTellsWhatIsThereAndWhatIsMissing() {
    var json = JsonText.parse(run("info", "--json").out());

    assertThat(json.at("kernel").string()).isPresent();
    assertThat(json.at("parts").items()).isNotEmpty();
    assertThat(run("info").out()).contains("conmon").contains("cgroups");
  }

  @Test
  void completionScriptsAreSoundShell() throws Exception {
    for (String shell : new String[] {"bash", "zsh", "fish"}) {
      var result = run("completions", shell);
      assertThat(result.code()).isZero();
      assertThat(result.out()).contains("__complete");
    }
    var script = run("completions", "bash").out().getBytes(StandardCharsets.UTF_8);
    var checked =
        Processes.run(
            Command.of("bash", "-n").withInput(script), Deadline.after(Duration.ofSeconds(20)));
    assertThat(checked.stderr()).isEmpty();
    assertThat(checked.code()).isZero();
  }

  @Test
  void verbsAndOptionsAreCompletedWithoutADaemon() {
    assertThat(run("__complete", "st").out()).isEqualTo("start\nstats\nstatus\nstop\n");
    assertThat(run("__complete", "volume", "").out().lines()).contains("create", "ls", "rm");
    assertThat(run("__complete", "logs", "--ti").out()).isEqualTo("--timestamps\n");
    assertThat(run("__complete", "image", "prune", "--o").out()).contains("--older-than");
    assertThat(run("__complete", "completions", "").out()).isEqualTo("bash\nfish\nzsh\n");
    for (String typed : new String[] {"nosuch x", "run image --", "job nosuch x"}) {
      var words = new java.util.ArrayList<>(java.util.List.of("__complete"));
      words.addAll(java.util.List.of(typed.split(" ")));
      var nothing = run(words.toArray(String[]::new));
      assertThat(nothing.out() + nothing.err()).as(typed).isEmpty();
      assertThat(nothing.code()).isZero();
    }
    var alone = run("__complete", "logs", "");
    assertThat(alone.out() + alone.err()).as("nobody to ask").isEmpty();
    assertThat(alone.code()).isZero();
  }

  @Test
  void aFaultOfOursIsOneLineAndNoStackTrace() {
    for (Throwable fault : List.of(new StackOverflowError(), new IllegalStateException("odd"))) {
      var err = new ByteArrayOutputStream();
      var session =
          new Session(
              new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8),
              new PrintStream(err, true, StandardCharsets.UTF_8),
              InputStream.nullInputStream(),
              Map.of(),
              directory,
              false,
              false,
              false,
              Terminal.NONE);
      int code = new Cli(session, _ -> thrown(fault)).run("version");
      session.flush();
      assertThat(code).isEqualTo(Blame.SELF.exitCode());
      assertThat(err.toString(StandardCharsets.UTF_8).lines())
          .singleElement()
          .asString()
          .startsWith("zlayer: internal error: " + fault.toString().replaceFirst(".*: ", ""));
    }
  }

  private static String thrown(Throwable fault) {
    if (fault instanceof Error error) {
      throw error;
    }
    throw (RuntimeException) fault;
  }

  /** What a Compose file names is read in full or refused, whatever it is. */
  @Test
  void filesThatAComposeFileNamesAreBounded() throws Exception {
    Path file = directory.resolve("compose.yaml");
    Path named = directory.resolve("named.env");
    try (var channel = FileChannel.open(named, CREATE_NEW, WRITE)) {
      channel.write(ByteBuffer.wrap(new byte[] {'A'}), 3L << 30); // a hole
    }
    Files.writeString(file, "services: {a: {image: b, env_file: named.env}}\n");
    assertThat(run("convert", "-f", file.toString()).err())
        .contains("named.env' is too large")
        .doesNotContain("\tat ");
    Files.write(named, new byte[] {'A', '=', (byte) 0xff});
    assertThat(run("convert", "-f", file.toString()).err()).contains("it is not UTF-8 text");
    Files.move(named, directory.resolve(".env"));
    assertThat(run("convert", "-f", file.toString()).err()).contains("it is not UTF-8 text");
    Files.delete(directory.resolve(".env"));
    Files.writeString(file, "services: {a: {image: b, env_file: \"x\\0y\"}}\n");
    assertThat(run("convert", "-f", file.toString()).err())
        .contains("is not a path")
        .doesNotContain("internal error");
  }
}
