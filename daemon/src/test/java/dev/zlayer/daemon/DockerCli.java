package dev.zlayer.daemon;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** Docker's own command line, on the socket of an agent. */
final class DockerCli {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final Supplier<Path> socket;
  private final Supplier<Path> configuration;

  DockerCli(Supplier<Path> socket, Supplier<Path> configuration) {
    this.socket = socket;
    this.configuration = configuration;
  }

  /** What other clients need to find the agent. */
  Map<String, String> env() {
    return Map.of(
        "DOCKER_HOST",
        "unix://" + socket.get(),
        "DOCKER_CONFIG",
        configuration.get().toString(),
        "DOCKER_BUILDKIT",
        "0");
  }

  /** Runs it, whatever comes of it. */
  CommandResult run(String... words) throws InterruptedException {
    return Processes.run(command(words), Deadline.after(LIMIT));
  }

  CommandResult run(byte[] input, String... words) throws InterruptedException {
    return Processes.run(command(words).withInput(input), Deadline.after(LIMIT));
  }

  /** Debian's own, which brings BuildKit's client with it, told to use that. */
  CommandResult buildKit(String... words) throws InterruptedException {
    var all = new ArrayList<>(List.of("/usr/bin/docker"));
    all.addAll(List.of(words));
    var env = new HashMap<>(env());
    env.put("DOCKER_BUILDKIT", "1");
    return Processes.run(Command.of(all).withEnv(env), Deadline.after(LIMIT));
  }

  /** What it prints when all is well, without the line end. */
  String out(String... words) throws InterruptedException {
    return checked(run(words), words);
  }

  String outOf(String input, String... words) throws InterruptedException {
    return checked(run(input.getBytes(StandardCharsets.UTF_8), words), words);
  }

  private static String checked(CommandResult result, String... words) {
    if (!result.success()) {
      throw new AssertionError(
          "docker %s: %d: %s%s"
              .formatted(String.join(" ", words), result.code(), result.stdout(), result.stderr()));
    }
    return result.stdout().strip();
  }

  /** On a terminal of its own. */
  CommandResult onTerminal(String input, String... words) throws InterruptedException {
    var line = new StringBuilder("docker");
    for (String word : words) {
      line.append(" '").append(word.replace("'", "'\\''")).append('\'');
    }
    return Processes.run(
        Command.of("script", "-qec", line.toString(), "/dev/null")
            .withEnv(env())
            .withInput(input.getBytes(StandardCharsets.UTF_8)),
        Deadline.after(LIMIT));
  }

  /** In the background; the caller ends it. */
  Process start(String... words) {
    return Processes.start(command(words));
  }

  private Command command(String... words) {
    var all = new ArrayList<>(List.of("docker"));
    all.addAll(List.of(words));
    return Command.of(all).withEnv(env());
  }
}
