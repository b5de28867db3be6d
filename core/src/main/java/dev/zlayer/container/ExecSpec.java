package dev.zlayer.container;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A further process inside a running container; absent parts are those of the container. */
public record ExecSpec(
    List<String> command,
    Map<String, String> env,
    Optional<String> workdir,
    Optional<String> user,
    boolean privileged,
    boolean terminal,
    boolean stdin) {
  public ExecSpec {
    command = List.copyOf(command);
    env = Map.copyOf(env);
  }

  public static ExecSpec of(String... command) {
    return new ExecSpec(
        List.of(command), Map.of(), Optional.empty(), Optional.empty(), false, false, false);
  }

  public ExecSpec withStdin() {
    return new ExecSpec(command, env, workdir, user, privileged, terminal, true);
  }

  public ExecSpec withTerminal() {
    return new ExecSpec(command, env, workdir, user, privileged, true, true);
  }

  public ExecSpec withUser(String user) {
    return new ExecSpec(command, env, workdir, Optional.of(user), privileged, terminal, stdin);
  }

  public ExecSpec withWorkdir(String workdir) {
    return new ExecSpec(command, env, Optional.of(workdir), user, privileged, terminal, stdin);
  }

  public ExecSpec withEnv(Map<String, String> env) {
    return new ExecSpec(command, env, workdir, user, privileged, terminal, stdin);
  }
}
