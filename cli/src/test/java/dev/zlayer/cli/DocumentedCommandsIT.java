package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every command block of the README and the pages, typed in against a real daemon. A block that
 * cannot be run has a comment {@code <!-- not run: reason -->} before it, and is listed; {@code
 * <!-- first: command -->} does what the text before it asks for.
 */
@Timeout(300)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DocumentedCommandsIT {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern BLOCK =
      Pattern.compile("(?s)(?:<!-- (not run|first): ([^\\n]*?) -->\\n)?```(\\w*)\\n(.*?)```");
  private static final Pattern COMMAND =
      Pattern.compile(
          "(?:\\$ )?((?:[A-Z_]+=\\S+ )*(?:\\./)?(?:zlayer|quickstart|verify|curl|docker|export)"
              + " .*)");
  private static final String PORT = "8080";

  /** Made by the program, whose tests hold them against it. */
  private static final Set<String> GENERATED = Set.of("docs/cli.md", "docs/spec.md", "docs/api.md");

  @TempDir private Path directory;

  private record Block(String page, Optional<String> notRun, List<String> commands) {}

  @Test
  void everyCommandBlockRuns() throws Exception {
    List<Block> blocks = blocks();
    List<Block> run = blocks.stream().filter(block -> block.notRun().isEmpty()).toList();
    assertThat(run).as("blocks were found").hasSizeGreaterThan(8);
    blocks.stream()
        .filter(block -> block.notRun().isPresent())
        .forEach(
            block ->
                System.out.printf(
                    "not run: %s '%s': %s%n",
                    block.page(), block.commands().getFirst(), block.notRun().get()));
    String port = freePort();
    Files.createDirectories(directory.resolve("examples"));
    String example = "examples/quickstart.zlayer.yml";
    Files.writeString(
        directory.resolve(example), Files.readString(ROOT.resolve(example)).replace(PORT, port));
    Files.writeString(directory.resolve("file"), "a value");
    String page = "";
    try (var daemon = DaemonFixture.start(directory).withBusybox("busybox:1.36")) {
      for (Block block : run) {
        if (!block.page().equals(page)) {
          page = block.page();
          daemon.restart(); // the page before may have ended with its stop
        }
        for (String command : block.commands()) {
          type(daemon, block.page(), command.replace(PORT, port));
        }
      }
    }
  }

  private void type(DaemonFixture daemon, String page, String line) throws Exception {
    String command = line.replaceFirst("\\s+#.*", "").replaceFirst("^\\./", "").strip();
    String what = page + ": " + command;
    if (!command.startsWith("zlayer ")) {
      CommandResult result =
          Processes.run(
              Command.of("sh", "-c", command).in(directory),
              Deadline.after(Duration.ofSeconds(30)));
      assertThat(result.code()).as(what + "\n" + result.stderr()).isZero();
      return;
    }
    String[] halves = command.split(" < ", 2);
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
  }

  private static List<Block> blocks() throws IOException {
    var found = new ArrayList<Block>();
    for (String page : pages()) {
      Matcher blocks = BLOCK.matcher(Files.readString(ROOT.resolve(page)));
      while (blocks.find()) {
        List<String> commands = new ArrayList<>();
        if (Set.of("", "sh").contains(blocks.group(3))) {
          blocks
              .group(4)
              .lines()
              .map(COMMAND::matcher)
              .filter(Matcher::matches)
              .forEach(line -> commands.add(line.group(1)));
        }
        if (commands.isEmpty()) {
          continue;
        }
        Optional<String> comment = Optional.ofNullable(blocks.group(2));
        boolean first = "first".equals(blocks.group(1));
        comment.filter(_ -> first).ifPresent(before -> commands.addFirst(before));
        found.add(new Block(page, comment.filter(_ -> !first), commands));
      }
    }
    return found;
  }

  private static List<String> pages() throws IOException {
    try (Stream<Path> docs = Files.list(ROOT.resolve("docs"))) {
      return Stream.concat(Stream.of(ROOT.resolve("README.md")), docs.sorted())
          .map(file -> ROOT.relativize(file).toString())
          .filter(page -> page.endsWith(".md") && !GENERATED.contains(page))
          .toList();
    }
  }

  private static String freePort() throws IOException {
    try (var socket = new ServerSocket(0)) {
      return Integer.toString(socket.getLocalPort());
    }
  }
}
