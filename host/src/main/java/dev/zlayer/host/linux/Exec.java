package dev.zlayer.host.linux;

import java.nio.file.Path;
import java.util.List;

/** Another program in the place of this one, in the same process. */
public final class Exec {
  private static final Libc.Function EXECVE = Libc.bind("execve");

  private Exec() {}

  /**
   * Returns only by an exception. Files that Java opened are closed by it; the standard streams
   * stay.
   *
   * @param arguments the first is the program's name
   * @param environment each {@code NAME=VALUE}
   */
  public static ErrnoException replace(
      Path program, List<String> arguments, List<String> environment) {
    try (var call = Libc.call()) {
      int _ =
          EXECVE.call(
              call,
              call.string(program.toString()).address(),
              call.strings(arguments).address(),
              call.strings(environment).address());
      return new ErrnoException("execute " + program, call.errnoValue());
    }
  }
}
