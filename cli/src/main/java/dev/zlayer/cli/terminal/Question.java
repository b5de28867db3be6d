package dev.zlayer.cli.terminal;

import dev.zlayer.cli.Session;
import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.util.Locale;

/** Asks a person before something is done that cannot be undone. */
public final class Question {
  private static final int LONGEST = 1000;

  private Question() {}

  /**
   * Whether the person says yes.
   *
   * @throws AgentException.InvalidSpec there is nobody to ask
   */
  public static boolean ask(Session session, String question) {
    if (!session.keyboard()) {
      throw new AgentException.InvalidSpec(
          "cannot ask for confirmation without a terminal; use --force, or --dry-run to see what"
              + " would be removed");
    }
    session.err().print(question + " [y/N] ");
    session.err().flush();
    var answer = new StringBuilder();
    try {
      for (int key = session.in().read();
          key >= 0 && key != '\n' && key != '\r' && answer.length() < LONGEST;
          key = session.in().read()) {
        answer.append((char) key);
      }
    } catch (IOException _) {
      return false; // no answer is no
    }
    return switch (answer.toString().strip().toLowerCase(Locale.ROOT)) {
      case "y", "yes" -> true;
      default -> false;
    };
  }
}
