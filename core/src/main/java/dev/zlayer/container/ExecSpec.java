package dev.zlayer.container;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A further process inside a running container; absent parts are those of the container.
 *
 * @param size of its terminal when it starts
 */
public record ExecSpec(
    List<String> command,
    Map<String, String> env,
    Optional<String> workdir,
    Optional<String> user,
    boolean privileged,
    boolean terminal,
    boolean stdin,
    Optional<TerminalSize> size) {
  public ExecSpec {
    command = List.copyOf(command);
    env = Map.copyOf(env);
  }

  public static ExecSpec of(String... command) {
    return new ExecSpec(
        List.of(command),
        Map.of(),
        Optional.empty(),
        Optional.empty(),
        false,
        false,
        false,
        Optional.empty());
  }

  public ExecSpec withStdin() {
    return new ExecSpec(command, env, workdir, user, privileged, terminal, true, size);
  }

  public ExecSpec withTerminal() {
    return new ExecSpec(command, env, workdir, user, privileged, true, true, size);
  }

  public ExecSpec withTerminal(TerminalSize size) {
    return new ExecSpec(command, env, workdir, user, privileged, true, true, Optional.of(size));
  }

  public ExecSpec withUser(String user) {
    return new ExecSpec(
        command, env, workdir, Optional.of(user), privileged, terminal, stdin, size);
  }

  public ExecSpec withWorkdir(String workdir) {
    return new ExecSpec(
        command, env, Optional.of(workdir), user, privileged, terminal, stdin, size);
  }

  public ExecSpec withEnv(Map<String, String> env) {
    return new ExecSpec(command, env, workdir, user, privileged, terminal, stdin, size);
  }
}
