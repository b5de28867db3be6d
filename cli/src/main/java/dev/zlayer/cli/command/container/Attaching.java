package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.print.Outcomes;
import dev.zlayer.json.Json;

/** What attach and run have in common once somebody is connected. */
public final class Attaching {
  private Attaching() {}

  /** Whether the main process has a terminal. */
  public static boolean terminal(Json details) {
    return details.at("process").at("terminal").bool().orElse(false);
  }

  /** The exit code of the command line after an interaction with a main process. */
  public static int finish(DaemonClient client, Session session, Target target, Interaction.End end)
      throws InterruptedException {
    if (end.detached()) {
      session.err().println("\ndetached; reattach with 'zlayer attach " + target + "'");
      return 0;
    }
    if (end.code().isPresent()) {
      return end.code().getAsInt();
    }
    return Outcomes.exitCode(
        client.post(target.path() + "/wait", Query.of("condition", "not-running")));
  }
}
