package dev.zlayer.cli;

import dev.zlayer.cli.terminal.OutputClosed;

/** The entry of the process: the only one that ends it. */
public final class Main {
  private static final String DAEMON = "serve";

  private Main() {}

  public static void main(String[] arguments) {
    String verb = arguments.length == 0 ? "" : arguments[0];
    if (arguments.length == 1 && verb.equals(Training.FLAG)) {
      Training.run();
      return;
    }
    int code = run(Session.ofThisProcess(), arguments);
    if (verb.equals(DAEMON)) {
      System.exit(code);
    }
    // everything is written, and nothing waits for the end: an exit in order would first load the
    // whole logging of Java to note it
    Runtime.getRuntime().halt(code);
  }

  static int run(Session session, String... arguments) {
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
