package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every command block of the README and the pages, typed in against a real daemon on a host of its
 * own. A block that another test runs has a comment {@code <!-- not run: reason, test -->} before
 * it; {@code <!-- first: command -->} does what the text before it asks for.
 */
@Timeout(300)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.DOCKERD})
class DocumentedCommandsIT {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern BLOCK =
      Pattern.compile("(?s)(?:<!-- (not run|first): ([^\\n]*?) -->\\n)?```(\\w*)\\n(.*?)```");
  private static final Pattern COMMAND =
      Pattern.compile(
          "((?:[A-Z_]+=\\S+ )*(?:\\./)?(?:zlayer|quickstart|verify|curl|docker|export|apt)( .*)?)");
  private static final Pattern INDENTED = Pattern.compile("(?m)^ {4,}(?:\\$ )?(?:\\./)?zlayer .*");
  private static final Pattern TESTED =
      Pattern.compile("(\\w+(?:IT|Test))\\b|\\btools/vm-suite\\b|runs this test");

  /** Made by the program, whose tests hold them against it; walked through by another test. */
  private static final Set<String> ELSEWHERE =
      Set.of("docs/cli.md", "docs/spec.md", "docs/api.md", "docs/getting-started.md");

  @TempDir private Path directory;
  private final Map<String, String> exported = new HashMap<>();

  private record Block(String page, Optional<String> notRun, List<String> commands) {}

  @Test
  void everyCommandBlockRuns() throws Exception {
    List<Block> run = blocks().stream().filter(block -> block.notRun().isEmpty()).toList();
    assertThat(run).as("blocks were found").hasSizeGreaterThan(6);
    Files.createDirectories(directory.resolve("examples"));
    String example = "examples/quickstart.zlayer.yml";
    Files.copy(ROOT.resolve(example), directory.resolve(example));
    Files.writeString(directory.resolve("file"), "a value");
    Files.writeString(
        directory.resolve("compose.yaml"),
        "name: composed\nservices: {app: {image: 'busybox:1.36', command: [sleep, '1000']}}\n");
    Files.writeString(directory.resolve("report.yml"), "image: busybox:1.36\ncommand: [date]\n");
    String page = "";
    try (var host = new HostNamespace();
        var daemon = DaemonFixture.start(directory, host, Map.of()).withBusybox("busybox:1.36")) {
      for (Block block : run) {
        if (!block.page().equals(page)) {
          page = block.page();
          exported.clear();
          daemon.cli().run("down", "composed");
          daemon.ok("ps", "--all", "--quiet").lines().forEach(id -> daemon.ok("rm", "-f", id));
        }
        for (String command : block.commands()) {
          type(host, daemon, block.page(), command);
        }
      }
    }
  }

  /** What is not run here is run elsewhere, and nothing hides from this test. */
  @Test
  void everyCommandIsInABlockThatATestRuns() throws IOException {
    var tests = new HashSet<String>();
    for (String module : List.of("cli", "cluster")) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(module + "/src/test/java"))) {
        files.forEach(file -> tests.add(file.getFileName().toString().replace(".java", "")));
      }
    }
    for (Block block : blocks()) {
      if (block.notRun().isPresent()) {
        Matcher named = TESTED.matcher(block.notRun().get());
        assertThat(named.find()).as(block + " names the test that runs it").isTrue();
        if (named.group(1) != null) {
          assertThat(tests).as(block.page()).contains(named.group(1));
        }
      }
    }
    for (String page : pages()) {
      assertThat(INDENTED.matcher(Files.readString(ROOT.resolve(page))).results())
          .as(page + ": commands belong between ```")
          .isEmpty();
    }
  }

  private void type(HostNamespace host, DaemonFixture daemon, String page, String line)
      throws Exception {
    String command = line.replaceFirst("\\s+#.*", "").replaceFirst("^\\./", "").strip();
    String what = page + ": " + command;
    if (command.startsWith("export ")) {
      String[] variable = command.substring("export ".length()).split("=", 2);
      exported.put(
          variable[0],
          variable[1].replace("/run/zlayer", daemon.dataDirectory().resolve("run").toString()));
      return;
    }
    if (!command.startsWith("zlayer ")) {
      var words = new ArrayList<>(host.enter());
      words.addAll(List.of("sh", "-c", command));
      CommandResult result =
          Processes.run(
              Command.of(words).in(directory).withEnv(exported),
              Deadline.after(Duration.ofSeconds(30)));
      assertThat(result.code()).as(what + "\n" + result.stderr()).isZero();
      return;
    }
    String[] output = command.split(" > ", 2);
    String[] halves = output[0].split(" < ", 2);
    String[] words = halves[0].substring("zlayer ".length()).split("\\s+");
    if (Arrays.asList(words).contains("-it")) {
      try (var person = TerminalFixture.start(daemon.process(words), daemon.env())) {
        person.awaitText("# ");
        person.type("exit\r");
        assertThat(person.exitCode()).as(what + "\n" + person.screen()).isZero();
      }
      return;
    }
    byte[] input =
        halves.length == 2 ? Files.readAllBytes(directory.resolve(halves[1])) : new byte[0];
    CliFixture.Result result = daemon.cli().runWithInput(input, words);
    assertThat(result.code()).as(what + "\n" + result.out() + result.err()).isZero();
    if (output.length == 2) {
      Files.writeString(directory.resolve(output[1]), result.out());
      daemon.ok("validate", output[1]);
    }
  }

  private static List<Block> blocks() throws IOException {
    var found = new ArrayList<Block>();
    for (String page : pages()) {
      Matcher blocks = BLOCK.matcher(Files.readString(ROOT.resolve(page)));
      while (blocks.find()) {
        if (!Set.of("", "sh", "bash", "console").contains(blocks.group(3))) {
          continue;
        }
        List<String> commands = commands(page, blocks.group(4));
        Optional<String> comment = Optional.ofNullable(blocks.group(2));
        boolean first = "first".equals(blocks.group(1));
        comment.filter(_ -> first).ifPresent(before -> commands.addFirst(before));
        found.add(new Block(page, comment.filter(_ -> !first), commands));
      }
    }
    return found;
  }

  /** In a session commands have a prompt, and what has none is printed by them. */
  private static List<String> commands(String page, String block) {
    boolean session = block.lines().anyMatch(line -> line.startsWith("$ "));
    var commands = new ArrayList<String>();
    for (String line : block.lines().toList()) {
      Matcher command = COMMAND.matcher(session ? line.replaceFirst("^\\$ ", "") : line);
      if (!session || line.startsWith("$ ")) {
        assertThat(command.matches()).as(page + ": is this a command? " + line).isTrue();
        commands.add(command.group(1));
      }
    }
    return commands;
  }

  private static List<String> pages() throws IOException {
    try (Stream<Path> docs = Files.list(ROOT.resolve("docs"))) {
      return Stream.concat(Stream.of(ROOT.resolve("README.md")), docs.sorted())
          .map(file -> ROOT.relativize(file).toString())
          .filter(page -> page.endsWith(".md") && !ELSEWHERE.contains(page))
          .toList();
    }
  }
}
