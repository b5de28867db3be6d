package dev.zlayer.container;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What runs inside. An absent entrypoint or argument list means the image's own; as in Docker, a
 * given entrypoint drops the image's arguments, given arguments keep the image's entrypoint.
 *
 * @param env over the image's environment, in this order
 * @param user {@code uid[:gid]} or {@code name[:group]} looked up in the image's own files
 * @param init run a small init process as pid 1 that forwards signals and reaps orphans
 * @param size that of its terminal when it starts; without one it has none until somebody attaches
 */
public record ProcessSpec(
    Optional<List<String>> entrypoint,
    Optional<List<String>> args,
    Map<String, String> env,
    Optional<String> workdir,
    Optional<String> user,
    List<String> extraGroups,
    boolean terminal,
    boolean stdin,
    boolean init,
    Optional<TerminalSize> size) {
  public static final ProcessSpec DEFAULT =
      new ProcessSpec(
          Optional.empty(),
          Optional.empty(),
          Map.of(),
          Optional.empty(),
          Optional.empty(),
          List.of(),
          false,
          false,
          false,
          Optional.empty());

  public ProcessSpec {
    entrypoint = entrypoint.map(List::copyOf);
    args = args.map(List::copyOf);
    env = Collections.unmodifiableMap(new LinkedHashMap<>(env));
    extraGroups = List.copyOf(extraGroups);
  }

  public ProcessSpec withEntrypoint(String... entrypoint) {
    return new ProcessSpec(
        Optional.of(List.of(entrypoint)),
        args,
        env,
        workdir,
        user,
        extraGroups,
        terminal,
        stdin,
        init,
        size);
  }

  public ProcessSpec withArgs(String... args) {
    return new ProcessSpec(
        entrypoint,
        Optional.of(List.of(args)),
        env,
        workdir,
        user,
        extraGroups,
        terminal,
        stdin,
        init,
        size);
  }

  public ProcessSpec withEnv(Map<String, String> env) {
    return new ProcessSpec(
        entrypoint, args, env, workdir, user, extraGroups, terminal, stdin, init, size);
  }

  public ProcessSpec withWorkdir(String workdir) {
    return new ProcessSpec(
        entrypoint,
        args,
        env,
        Optional.of(workdir),
        user,
        extraGroups,
        terminal,
        stdin,
        init,
        size);
  }

  public ProcessSpec withUser(String user) {
    return new ProcessSpec(
        entrypoint,
        args,
        env,
        workdir,
        Optional.of(user),
        extraGroups,
        terminal,
        stdin,
        init,
        size);
  }

  public ProcessSpec withExtraGroups(List<String> extraGroups) {
    return new ProcessSpec(
        entrypoint, args, env, workdir, user, extraGroups, terminal, stdin, init, size);
  }

  public ProcessSpec withTerminal(boolean terminal) {
    return new ProcessSpec(
        entrypoint, args, env, workdir, user, extraGroups, terminal, stdin, init, size);
  }

  public ProcessSpec withStdin(boolean stdin) {
    return new ProcessSpec(
        entrypoint, args, env, workdir, user, extraGroups, terminal, stdin, init, size);
  }

  public ProcessSpec withInit(boolean init) {
    return new ProcessSpec(
        entrypoint, args, env, workdir, user, extraGroups, terminal, stdin, init, size);
  }

  /** With a terminal that has this size from the start. */
  public ProcessSpec withTerminal(TerminalSize size) {
    return new ProcessSpec(
        entrypoint, args, env, workdir, user, extraGroups, true, stdin, init, Optional.of(size));
  }
}
