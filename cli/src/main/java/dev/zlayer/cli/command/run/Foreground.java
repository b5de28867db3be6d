package dev.zlayer.cli.command.run;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.Channel;
import dev.zlayer.cli.client.ConnectionLost;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.cli.client.Output;
import dev.zlayer.cli.client.OutputFrames;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Reconnecting;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.container.Interaction;
import dev.zlayer.cli.print.LogPrinter;
import dev.zlayer.cli.print.Outcomes;
import dev.zlayer.cli.terminal.OutputClosed;
import dev.zlayer.container.LogPosition;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A container that was made and not started yet, run in front of a person. It is removed from here,
 * so that its output and its end can be read however short it lives; the daemon does so after a
 * while when nobody is here any more.
 */
final class Foreground {
  /** A first process gets no signal that it does not ask for: the third ^C deserves a word. */
  private static final int KILL_AFTER = 3;

  private final Session session;
  private final DaemonClient client;
  private final Reconnecting reconnecting;
  private final Target target;
  private final String name;
  private final boolean remove;
  private final AtomicInteger signals = new AtomicInteger();

  /** Bytes of its log that were printed while it was attached to. */
  private long skipOut;

  private long skipErr;

  Foreground(
      Session session,
      DaemonClient client,
      Reconnecting reconnecting,
      String id,
      String name,
      boolean remove) {
    this.session = session;
    this.client = client;
    this.reconnecting = reconnecting;
    this.target = Target.parse(id);
    this.name = name;
    this.remove = remove;
  }

  /** With standard input, and a terminal on demand. */
  int attached(boolean tty) throws InterruptedException {
    return whileRead(() -> attach(tty));
  }

  /** Only watched: its log is what is shown, so a restart of the daemon loses nothing. */
  int watched() throws InterruptedException {
    return whileRead(this::watch);
  }

  /** Nobody reads its output any more: it ends, as a program in a pipeline does. */
  private int whileRead(Reconnecting.Work<Integer> work) throws InterruptedException {
    try {
      return work.run();
    } catch (OutputClosed | InterruptedException e) {
      end();
      throw e;
    }
  }

  /** Nobody is here for it any more. */
  void end() {
    boolean ended = false;
    while (!ended) {
      try {
        if (remove) {
          discard();
        } else {
          send("KILL");
        }
        ended = true;
      } catch (InterruptedException _) {
        // the watch of the output interrupts once, perhaps only after a write has failed
      }
    }
  }

  private int attach(boolean tty) throws InterruptedException {
    Query query = Query.of("stdin", true).and("logs", true).and("start", true);
    Optional<Interaction> interaction = Optional.empty();
    try {
      Channel channel = client.connect(target.path() + "/attach/ws", query);
      interaction = Optional.of(new Interaction(session, channel, tty, true));
      Interaction.End end = interaction.get().run(true);
      if (end.detached()) {
        release();
        session.err().println(farewell());
        return 0;
      }
      return end.code().isPresent() ? removed(end.code().getAsInt()) : ended();
    } catch (DaemonProblem problem) {
      if (hasRun()) {
        return ended(); // it was over before anybody could join it
      }
      discard();
      throw problem;
    } catch (ConnectionLost lost) {
      session.err().println("zlayer: " + lost.getMessage());
      if (interaction.isPresent()) {
        skipOut = interaction.get().printed(false);
        skipErr = interaction.get().printed(true);
      }
      return ended();
    }
  }

  private int watch() throws InterruptedException {
    try (var _ = session.screen().onSignal("INT", () -> signal("INT"));
        var _ = session.screen().onSignal("TERM", () -> signal("TERM"))) {
      try {
        client.post(target.path() + "/start", Query.NONE);
      } catch (DaemonProblem problem) {
        discard();
        throw problem;
      }
      return ended();
    }
  }

  private String farewell() {
    return "\ndetached; reattach with 'zlayer attach %s'%s"
        .formatted(name, remove ? "; the container is removed when it exits" : "");
  }

  /** Shows what there is to see of it, up to its end. */
  private int ended() throws InterruptedException {
    return ended(
        new LogPosition(), new LogPrinter(session.out(), session.err(), false, false).source());
  }

  /** The same from where somebody has come to. */
  int ended(LogPosition resume, LogPrinter.Source printer) throws InterruptedException {
    output(resume, printer);
    Json outcome =
        reconnecting.run(
            () -> client.post(target.path() + "/wait", Query.of("condition", "not-running")));
    return removed(code(session, outcome));
  }

  /** What to exit with, after what there is to say about that. */
  static int code(Session session, Json outcome) {
    if (outcome.at("oom").bool().orElse(false)) {
      session.err().println("zlayer: " + Outcomes.text(outcome) + ", see --memory");
    }
    return Outcomes.exitCode(outcome);
  }

  private void output(LogPosition resume, LogPrinter.Source printer) throws InterruptedException {
    boolean complete =
        reconnecting.run(
            () -> {
              resume.again();
              Query query =
                  Query.of("follow", true).andIf("since", resume.since().map(Object::toString));
              try (OutputFrames frames = client.output(target.path() + "/logs", query)) {
                frames.passNew(
                    resume, piece -> unprinted(piece).ifPresent(printer::put), printer::flush);
                return true;
              } finally {
                printer.flush();
              }
            });
    assert complete;
  }

  /** Without what was printed before the connection to its streams broke. */
  private Optional<Output> unprinted(Output piece) {
    long skip = piece.stderr() ? skipErr : skipOut;
    int length = piece.bytes().length + (piece.partial() ? 0 : 1);
    long left = Math.max(0, skip - length);
    if (piece.stderr()) {
      skipErr = left;
    } else {
      skipOut = left;
    }
    if (skip >= length) {
      return Optional.empty();
    }
    byte[] rest = Arrays.copyOfRange(piece.bytes(), (int) skip, piece.bytes().length);
    return Optional.of(
        new Output(piece.time(), piece.stderr(), rest, piece.partial(), piece.gap()));
  }

  private boolean hasRun() throws InterruptedException {
    try {
      Json state = client.get(target.path()).at("container");
      return state.at("started").string().isPresent();
    } catch (DaemonProblem | ConnectionLost _) {
      return false;
    }
  }

  void signal(String signal) {
    if (signals.incrementAndGet() == KILL_AFTER) {
      session
          .err()
          .printf(
              "%nzlayer: the process ignores this signal; end it with 'zlayer kill %s'%n", name);
    }
    try {
      send(signal);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void send(String signal) throws InterruptedException {
    try {
      client.post(target.path() + "/kill", Query.of("signal", signal));
    } catch (DaemonProblem | ConnectionLost | AgentException _) {
      // it has ended; whoever waits for it says how
    }
  }

  private int removed(int code) throws InterruptedException {
    if (remove) {
      discard();
    }
    return code;
  }

  /** Nobody reads its output from here any more: the daemon need not wait for us at its end. */
  private void release() throws InterruptedException {
    if (remove) {
      try {
        client.post(target.path() + "/release", Query.NONE);
      } catch (DaemonProblem | ConnectionLost _) {
        // it has ended, or is removed a little later
      }
    }
  }

  private void discard() throws InterruptedException {
    try {
      client.delete(target.path(), Query.of("force", true));
    } catch (DaemonProblem | ConnectionLost e) {
      session.err().println("zlayer: the container was not removed: " + e.getMessage());
    }
  }
}
