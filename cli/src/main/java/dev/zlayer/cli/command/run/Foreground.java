package dev.zlayer.cli.command.run;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.Channel;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonLost;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.cli.client.JsonLines;
import dev.zlayer.cli.client.Output;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Reconnecting;
import dev.zlayer.cli.client.Resume;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.container.Attaching;
import dev.zlayer.cli.command.container.Interaction;
import dev.zlayer.cli.print.LogPrinter;
import dev.zlayer.cli.print.Outcomes;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.Optional;

/** A container that was made and not started yet, run in front of a person. */
final class Foreground {
  private final Session session;
  private final DaemonClient client;
  private final Reconnecting reconnecting;
  private final Target target;

  Foreground(Session session, DaemonClient client, Reconnecting reconnecting, String id) {
    this.session = session;
    this.client = client;
    this.reconnecting = reconnecting;
    this.target = Target.parse(id);
  }

  /** With standard input, and a terminal on demand; attached before it starts. */
  int attached(boolean tty) throws InterruptedException {
    Channel channel =
        client.connect(target.path() + "/attach/ws", Query.of("stdin", true).and("logs", false));
    try {
      client.post(target.path() + "/start", Query.NONE);
    } catch (RuntimeException e) {
      channel.close();
      discard();
      throw e;
    }
    Interaction.End end = new Interaction(session, channel, tty).run(true);
    return Attaching.finish(client, session, target, end);
  }

  /** Only watched: its log is what is shown, so a restart of the daemon loses nothing. */
  int watched() throws InterruptedException {
    try (var _ = session.screen().onSignal("INT", () -> signal("INT"));
        var _ = session.screen().onSignal("TERM", () -> signal("TERM"))) {
      try {
        client.post(target.path() + "/start", Query.NONE);
      } catch (RuntimeException e) {
        discard();
        throw e;
      }
      output();
      return Outcomes.exitCode(
          reconnecting.run(
              () -> client.post(target.path() + "/wait", Query.of("condition", "not-running"))));
    }
  }

  private void output() throws InterruptedException {
    var printer = new LogPrinter(session.out(), session.err(), false, false);
    var resume = new Resume();
    boolean complete =
        reconnecting.run(
            () -> {
              resume.again();
              try (JsonLines lines =
                  client.stream(
                      target.path() + "/logs",
                      Query.of("follow", true)
                          .andIf("since", resume.since().map(Object::toString)))) {
                for (Optional<Json> line = lines.next(); line.isPresent(); line = lines.next()) {
                  Output output = Output.of(line.get());
                  if (resume.isNew(output)) {
                    printer.print("", output);
                  }
                }
                return true;
              }
            });
    assert complete;
  }

  private void signal(String name) {
    try {
      client.post(target.path() + "/kill", Query.of("signal", name));
    } catch (DaemonProblem | DaemonLost | AgentException _) {
      // it has ended; whoever waits for it says how
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** One that could not be started is of no use to anybody. */
  private void discard() throws InterruptedException {
    try {
      client.delete(target.path(), Query.of("force", true));
    } catch (DaemonProblem | DaemonLost _) {
      // what kept it from starting is what the person has to see
    }
  }
}
