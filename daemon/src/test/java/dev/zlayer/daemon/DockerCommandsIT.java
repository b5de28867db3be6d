package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.docker.DockerEngine;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Commands of Docker's command line on the agent, one after the other: exit codes and output are
 * those that dockerd 28.5.2 was recorded with; the words of errors only with a client of that
 * version. A command that differs has its reason beside it, and the reason is one of
 * docs/docker.md. Run it with {@code ZLAYER_RECORD_DOCKERD=1} and that dockerd on the path to
 * record anew.
 */
@Timeout(480)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.DOCKERD})
class DockerCommandsIT {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Path SCRIPT = Path.of("src/test/resources/docker/commands.txt");
  private static final Path RECORD = Path.of("src/test/resources/docker/dockerd-28.5.2.txt");
  private static final Path DOCS = Path.of("../docs/docker.md");

  @TempDir Path directory;

  /** A command, and why it differs. */
  private record Line(String command, Optional<String> reason) {}

  private static List<Line> script() throws IOException {
    var lines = new ArrayList<Line>();
    Optional<String> reason = Optional.empty();
    for (String line : Files.readAllLines(SCRIPT)) {
      if (line.startsWith("~")) {
        reason = Optional.of(line.substring(1).strip());
      } else if (!line.startsWith("#")) {
        lines.add(new Line(line, reason));
        reason = Optional.empty();
      }
    }
    return lines;
  }

  @Test
  void theAgentAnswersAsDockerDoes() throws Exception {
    List<Line> lines = script();
    assertThat(lines).hasSizeGreaterThanOrEqualTo(120);
    if (System.getenv("ZLAYER_RECORD_DOCKERD") != null) {
      record(lines);
      return;
    }
    List<String> expected = recorded();
    assertThat(expected).as("record dockerd anew").hasSameSizeAs(lines);
    String docs = Files.readString(DOCS);
    var differences = new StringBuilder();
    try (OpenNode node = OpenNode.open()) {
      var client = new Client(node.dockerSocket(), directory);
      client.prepare();
      boolean words = client.hasWordsOfRecord();
      for (int i = 0; i < lines.size(); i++) {
        Line line = lines.get(i);
        String answer = client.answer(line.command());
        boolean same =
            words
                ? answer.equals(expected.get(i))
                : withoutErrors(answer).equals(withoutErrors(expected.get(i)));
        if (same && words && line.reason().isPresent()) {
          differences.append("does not differ any more: %s%n".formatted(line.command()));
        } else if (!same && line.reason().isEmpty()) {
          differences.append("--- dockerd%n%s--- agent%n%s".formatted(expected.get(i), answer));
        }
        if (line.reason().filter(reason -> !docs.contains("| " + reason + " |")).isPresent()) {
          differences.append("not in docs/docker.md: %s%n".formatted(line.reason().get()));
        }
      }
    }
    assertThat(differences.toString()).isEmpty();
  }

  private static String withoutErrors(String answer) {
    return answer.lines().filter(line -> !line.startsWith("! ")).collect(Collectors.joining("\n"));
  }

  private static List<String> recorded() throws IOException {
    var all = new ArrayList<String>();
    for (String line : Files.readAllLines(RECORD)) {
      if (line.startsWith("$ ")) {
        all.add("");
      }
      all.add(all.removeLast() + line + "\n");
    }
    return all;
  }

  private void record(List<Line> lines) throws Exception {
    Path archive = directory.resolve("image.tar");
    Files.write(archive, ImageMaker.busybox().cmd("sh").make().dockerArchive(Node.IMAGE));
    try (DockerEngine engine = DockerEngine.start()) {
      var client = new Client(((HttpAddress.Unix) engine.address()).socket(), directory);
      CommandResult loaded = client.shell("docker load -i " + archive);
      assertThat(loaded.success()).as(loaded.stderr()).isTrue();
      Files.delete(archive);
      client.prepare();
      var text = new StringBuilder();
      for (Line line : lines) {
        text.append(client.answer(line.command()));
      }
      Files.writeString(RECORD, text);
    }
  }

  /** Docker's command line on one engine, and where it works. */
  private record Client(Path socket, Path directory) {
    void prepare() throws IOException {
      Files.writeString(directory.resolve("input"), "input\n");
    }

    /**
     * Whether the client says errors as the one of the record does: others have words of their own.
     */
    boolean hasWordsOfRecord() throws InterruptedException {
      return shell("docker --version").stdout().startsWith("Docker version 28.");
    }

    CommandResult shell(String line) throws InterruptedException {
      return Processes.run(
          Command.of("sh", "-c", line)
              .in(directory)
              .withEnv(
                  Map.of(
                      "DOCKER_HOST",
                      "unix://" + socket,
                      "DOCKER_CONFIG",
                      directory.resolve("config").toString(),
                      "DOCKER_CLI_HINTS",
                      "false",
                      "DOCKER_BUILDKIT",
                      "0",
                      "IMAGE",
                      Node.IMAGE,
                      "DIR",
                      directory.toString())),
          Deadline.after(LIMIT));
    }

    /** The command, its exit code unless that is 0, its output, and its errors behind a mark. */
    String answer(String command) throws InterruptedException {
      CommandResult result = shell(command);
      var answer = new StringBuilder("$ " + command + "\n");
      if (result.code() != 0) {
        answer.append("= %d%n".formatted(result.code()));
      }
      append(answer, "  ", result.stdout());
      append(answer, "! ", result.stderr());
      return answer.toString();
    }

    private void append(StringBuilder answer, String mark, String output) {
      normal(output)
          .lines()
          .filter(line -> !line.isBlank())
          .forEach(line -> answer.append(mark).append(line).append('\n'));
    }

    /**
     * Without what differs from run to run, and without what the versions of the client differ in.
     */
    private String normal(String text) {
      return text.replace(directory.toString(), "DIR")
          .replaceAll("[0-9a-f]{64}", "ID")
          .replaceAll("\\b[0-9a-f]{12}\\b", "ID")
          .replaceAll("\\b\\d{4}-\\d\\d-\\d\\d[T ][0-9:.]+( \\+0000 UTC|Z)?", "TIME")
          .replaceAll(
              "(?i)\\b(About |Less than )?(\\d+|an?) (second|minute|hour|day|week|month|year)s?("
                  + " ago)?",
              "TIME")
          .replaceAll("\\b10\\.(?!215\\.9\\.)\\d+\\.\\d+\\.\\d+", "ADDRESS")
          .replaceAll("\\b172\\.\\d+\\.\\d+\\.\\d+", "ADDRESS")
          .replaceAll("\\b\\d+(\\.\\d+)?[kMG]?B\\b", "SIZE")
          .replaceAll("(?m)^(See|Run) 'docker .*", "")
          .replaceAll("(?m)\\.$", "")
          .replaceAll("[ \t\r]+", " ")
          .replaceAll("(?m) $", "");
    }
  }
}
