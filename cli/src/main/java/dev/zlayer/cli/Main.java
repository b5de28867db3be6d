package dev.zlayer.cli;

import java.util.Arrays;

/** The door of the process: the only caller of {@code System.exit}. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) {
    if (Arrays.equals(arguments, new String[] {Training.FLAG})) {
      Training.run();
      return;
    }
    Session session = Session.ofThisProcess();
    int code = new Cli(session).run(arguments);
    session.flush();
    System.exit(code);
  }
}
