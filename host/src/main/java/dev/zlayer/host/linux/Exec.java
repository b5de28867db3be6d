package dev.zlayer.host.linux;

import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.List;

/** Another program in the place of this one, in the same process. */
public final class Exec {
  private static final MethodHandle EXECVE =
      Libc.bind("execve", Libc.INT, Libc.POINTER, Libc.POINTER, Libc.POINTER);

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
          (int)
              EXECVE.invokeExact(
                  call.errno(),
                  call.string(program.toString()),
                  call.strings(arguments),
                  call.strings(environment));
      return new ErrnoException("execute " + program, call.errnoValue());
    } catch (Throwable e) {
      throw Libc.impossible(e);
    }
  }
}
