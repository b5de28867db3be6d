package dev.zlayer.cli;

import dev.zlayer.cli.terminal.OutputClosed;
import dev.zlayer.host.http.SocketWarmup;
import java.util.Set;

/** The entry of the process: the only one that ends it. */
public final class Main {
  private static final String DAEMON = "serve";

  /** Print what they know themselves. */
  private static final Set<String> ALONE =
      Set.of("version", "-v", "-V", "--version", "help", "-h", "--help", DAEMON);

  private Main() {}

  public static void main(String[] arguments) {
    String verb = arguments.length == 0 ? "" : arguments[0];
    if (arguments.length == 1 && verb.equals(Training.FLAG)) {
      Training.run();
      return;
    }
    prepare(arguments);
    int code = run(Session.ofThisProcess(), arguments);
    if (verb.equals(DAEMON)) {
      System.exit(code);
    }
    // everything is written, and nothing waits for the end: an exit in order would first load the
    // whole logging of Java to note it
    Runtime.getRuntime().halt(code);
  }

  /** Before anything else, since most verbs end up waiting for it. */
  static void prepare(String... arguments) {
    if (arguments.length > 0 && !ALONE.contains(arguments[0])) {
      SocketWarmup.begin();
    }
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
