package dev.zlayer.runtime.wsl;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.UnixPath;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * One distribution, as the place where commands run.
 *
 * @param program {@code wsl.exe}, or a path to it
 * @param quoting how this system hands words to a program
 */
public record WslDistribution(String program, String name, Quoting quoting) {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  /** How words become the command line of a program. */
  public enum Quoting {
    /** They are handed over one by one. */
    NONE,
    /** They become one line, which the program takes apart again. */
    WINDOWS
  }

  /**
   * The one that Windows uses when none is named; none when none is installed.
   *
   * @throws AgentException.Configuration there is no WSL here; says how to get it
   */
  public static Optional<WslDistribution> usual(String program, Quoting quoting)
      throws InterruptedException {
    return WslList.read(program).stream()
        .filter(WslList.Entry::standard)
        .map(entry -> new WslDistribution(program, entry.name(), quoting))
        .findFirst();
  }

  /**
   * A command that runs in the distribution, as root, what this one would run here: no shell, same
   * words.
   */
  public Command inside(Command command) {
    var words = new ArrayList<>(List.of(program, "-d", name, "-u", "root"));
    command
        .directory()
        .ifPresent(directory -> words.addAll(List.of("--cd", UnixPath.text(directory))));
    words.add("--exec");
    if (!command.env().isEmpty()) {
      // the variables of Windows do not reach the distribution
      words.add("/usr/bin/env");
      command.env().forEach((variable, value) -> words.add(variable + "=" + value));
    }
    words.addAll(command.arguments());
    return new Command(
        words.stream().map(this::quoted).toList(),
        Map.of(),
        Optional.empty(),
        command.input(),
        command.outputLimit(),
        command.inheritsAll(),
        Optional.empty());
  }

  private String quoted(String word) {
    return quoting == Quoting.NONE ? word : WindowsWords.quote(word);
  }

  /** Runs words in the distribution. */
  public CommandResult run(Deadline deadline, String... words) throws InterruptedException {
    return Processes.run(inside(Command.of(words)), deadline);
  }

  /** Whether a test of the distribution's {@code test} program holds, such as {@code -e /x}. */
  public boolean test(String what, String path) throws InterruptedException {
    return run(Deadline.after(TIMEOUT), "/usr/bin/test", what, path).success();
  }

  /**
   * Makes sure that commands run there; a stopped distribution is started by the first one.
   *
   * @throws AgentException.Configuration WSL or the distribution is missing, is of the first
   *     version, or does not start; says what to do
   */
  public void require() throws InterruptedException {
    List<WslList.Entry> all = WslList.read(program);
    WslList.Entry found =
        all.stream()
            .filter(entry -> entry.name().equalsIgnoreCase(name))
            .findFirst()
            .orElseThrow(() -> missing(all));
    if (found.version() == 1) {
      throw new AgentException.Configuration(
          "the WSL distribution '%s' is of version 1, which has no kernel for containers: run 'wsl --set-version %s 2'"
              .formatted(name, name));
    }
    CommandResult result = run(Deadline.after(TIMEOUT), "/bin/true");
    if (!result.success()) {
      throw new AgentException.Configuration(
          "the WSL distribution '%s' is %s and does not start: %s"
              .formatted(name, found.running() ? "running" : "stopped", WslList.lastLine(result)));
    }
  }

  private AgentException missing(List<WslList.Entry> all) {
    List<String> names = all.stream().map(WslList.Entry::name).toList();
    return new AgentException.Configuration(
        "there is no WSL distribution '%s'%s: install it with 'wsl --install -d %s', or name another one"
            .formatted(
                name, names.isEmpty() ? "" : " (there is " + String.join(", ", names) + ")", name));
  }
}
