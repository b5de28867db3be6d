package dev.zlayer.cli;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.OrdinaryUser;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Another user of the machine, who runs command lines. */
record Stranger(OrdinaryUser user) {
  static final int USER = 64_321;
  private static final Duration LIMIT = Duration.ofSeconds(90);

  /** Opens the way to that directory for everybody. */
  static Stranger in(Path directory) throws IOException {
    return in(directory, USER);
  }

  /** One that no other test is at the same time. */
  static Stranger in(Path directory, int user) throws IOException {
    return new Stranger(OrdinaryUser.in(directory, user));
  }

  CommandResult zlayer(String group, Map<String, String> env, String... words)
      throws InterruptedException {
    return user.run(group, env, words(words), LIMIT);
  }

  /** A command line of this user; the words of a shell that changes to them are not part of it. */
  List<String> words(String... words) {
    return user.java(List.of(), "dev.zlayer.cli.Main", words);
  }

  static CommandResult run(String group, Map<String, String> env, List<String> words)
      throws InterruptedException {
    var command =
        new ArrayList<>(
            List.of("setpriv", "--reuid=" + USER, "--regid=" + group, "--clear-groups"));
    command.addAll(words);
    return Processes.run(Command.of(command).withEnv(env), Deadline.after(LIMIT));
  }
}
