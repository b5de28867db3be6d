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
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The first pages that a person reads, followed line by line on a host of its own. */
@Timeout(240)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class GettingStartedIT {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern BLOCK = Pattern.compile("(?s)```(\\w*)\\n(.*?)```");
  private static final Pattern EXIT = Pattern.compile("(.*?)\\s+# exits with (\\d+)");
  private static final Duration LIMIT = Duration.ofSeconds(30);

  @TempDir Path directory;
  private HostNamespace host;
  private DaemonFixture daemon;

  @BeforeEach
  void startADaemon() {
    host = new HostNamespace();
    daemon = DaemonFixture.start(directory, host, Map.of()).withBusybox("busybox:1.36");
  }

  @AfterEach
  void removeEverything() {
    try {
      if (daemon != null) {
        daemon.close();
      }
    } finally {
      host.close();
    }
  }

  private record Block(String language, String text) {}

  private static List<Block> blocks(String page) throws IOException {
    List<Block> found = new ArrayList<>();
    Matcher blocks = BLOCK.matcher(Files.readString(ROOT.resolve(page)));
    while (blocks.find()) {
      found.add(new Block(blocks.group(1), blocks.group(2)));
    }
    return found;
  }

  /** Deployed, updated, broken, explained, rolled back, a job run, removed: by the page alone. */
  @Test
  void thePageIsTrueLineByLine() throws Exception {
    int commands = 0;
    for (Block block : blocks("docs/getting-started.md")) {
      if (block.language().equals("yaml")) {
        Files.writeString(directory.resolve("shop.zlayer.yml"), block.text());
        continue;
      }
      boolean session = block.text().startsWith("$ ");
      String output = "";
      for (String line : block.text().lines().toList()) {
        if (!session || line.startsWith("$ ")) {
          output = type(line.replaceFirst("^\\$ ", ""));
          commands++;
        } else {
          assertThat(output.lines()).as("what the page shows").contains(line);
        }
      }
    }
    assertThat(commands).isGreaterThan(20);
    daemon.restart();
    assertThat(daemon.ok("ps", "--all", "--quiet") + daemon.ok("volume", "ls", "--quiet"))
        .as("everything was removed")
        .isEmpty();
  }

  /** What a command prints on both streams; it has to exit as the page says. */
  private String type(String line) throws InterruptedException {
    Matcher stated = EXIT.matcher(line);
    int code = stated.matches() ? Integer.parseInt(stated.group(2)) : 0;
    String command = stated.matches() ? stated.group(1) : line;
    if (command.startsWith("zlayer ")) {
      if (command.startsWith("zlayer logs ")) {
        awaitOutput(command);
      }
      CliFixture.Result result = daemon.cli().run(words(command));
      assertThat(result.code()).as(line + "\n" + result.out() + result.err()).isEqualTo(code);
      return result.err() + result.out();
    }
    var words = new ArrayList<>(host.enter());
    words.addAll(List.of("sh", "-c", command));
    CommandResult result = Processes.run(Command.of(words).in(directory), Deadline.after(LIMIT));
    assertThat(result.code()).as(line + "\n" + result.stderr()).isEqualTo(code);
    return result.stdout();
  }

  private static String[] words(String command) {
    return command.substring("zlayer ".length()).split(" ");
  }

  /** A person looks again when nothing was printed yet. */
  private void awaitOutput(String command) {
    Awaitility.await().atMost(LIMIT).until(() -> !daemon.cli().run(words(command)).out().isEmpty());
  }

  @Test
  void theReadmeIsTrue() throws Exception {
    List<Block> blocks = blocks("README.md");
    Files.writeString(directory.resolve("hello.zlayer.yml"), blocks.getFirst().text());
    CliFixture.Result up = daemon.cli().run("up", "hello.zlayer.yml");
    assertThat(up.code()).as(up.err()).isZero();
    assertThat(up.err()).contains("deployment 'hello' is ready");
    assertThat(daemon.ok("job", "run", "--wait", "hello/report")).contains("20");
    assertThat(daemon.ok("cron", "ls")).contains("hello/nightly");

    String shown =
        blocks.stream()
            .map(Block::text)
            .filter(text -> text.contains("broken.zlayer.yml"))
            .findFirst()
            .orElseThrow();
    Files.writeString(
        directory.resolve("broken.zlayer.yml"),
        """
        version: v1
        deployment: hello
        services:
          web:
            image: busybox:1.36
            command: [httpd, -f, -p, "8080"]
            stop_grace_period: 1s
            scal: {mode: fixed, replicas: 2}
            env:
              HOME: /
              PORT: 8080
        """);
    CliFixture.Result broken = daemon.cli().run("up", "broken.zlayer.yml");
    assertThat(broken.code()).isEqualTo(2);
    assertThat("$ ./zlayer up broken.zlayer.yml\n" + broken.err()).isEqualTo(shown);
  }
}
