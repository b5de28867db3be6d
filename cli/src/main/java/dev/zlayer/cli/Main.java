package dev.zlayer.cli;

import dev.zlayer.cli.terminal.OutputClosed;
import java.util.Arrays;

/** The entry of the process: the only caller of {@code System.exit}. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) {
    if (Arrays.equals(arguments, new String[] {Training.FLAG})) {
      Training.run();
      return;
    }
    System.exit(run(Session.ofThisProcess(), arguments));
  }

  private static int run(Session session, String[] arguments) {
    int code = OutputClosed.EXIT_CODE;
    try {
      code = new Cli(session).run(arguments);
      session.flush();
      return code;
    } catch (OutputClosed closed) {
      return code != 0 ? code : closed.exitCode(); // the reason could perhaps not be written
    }
  }
}
