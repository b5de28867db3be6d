package dev.zlayer.cli.command.run;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.ConnectionLost;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.OutputFrames;
import dev.zlayer.cli.command.run.NewContainerCommand.Made;
import dev.zlayer.cli.print.LogPrinter;
import dev.zlayer.cli.terminal.OutputClosed;
import dev.zlayer.container.LogPosition;
import dev.zlayer.json.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * A container that one request makes, starts, shows and removes. When the connection breaks on the
 * way, {@link Foreground} continues. Signals for it that come too early wait for its start.
 */
final class StreamedRun {
  private final Session session;
  private final Function<Made, Foreground> later;
  private final Noting noting;
  private final LogPosition position = new LogPosition();
  private final LogPrinter.Source printer;

  private final Thread caller = Thread.currentThread();
  private final List<String> early = new ArrayList<>();
  private Optional<Foreground> made = Optional.empty();
  private Optional<Json> exit = Optional.empty();
  private boolean asking;
  private boolean cancelled;
  private boolean started;

  /** Writes down what was made. */
  @FunctionalInterface
  interface Noting {
    Made noted(Made made) throws IOException;
  }

  /** Has the container made; what fails here has made none. */
  @FunctionalInterface
  interface Request {
    OutputFrames send() throws InterruptedException, IOException;
  }

  /**
   * @param later continues with the container when the connection has broken
   * @param noting is given what was made
   */
  StreamedRun(Session session, Function<Made, Foreground> later, Noting noting) {
    this.session = session;
    this.later = later;
    this.noting = noting;
    this.printer = new LogPrinter(session.out(), session.err(), false, false).source();
  }

  int run(Request request) throws InterruptedException, IOException {
    try (var _ = session.screen().onSignal("INT", () -> signal("INT"));
        var _ = session.screen().onSignal("TERM", () -> signal("TERM"))) {
      show(request.send());
      Optional<Json> outcome = exit;
      return outcome.isPresent()
          ? code(outcome.get())
          : container().ended(position, printer); // the daemon was restarted
    } catch (UncheckedIOException e) {
      made.ifPresent(Foreground::end);
      throw e.getCause(); // the id could not be written down
    } catch (OutputClosed | InterruptedException e) {
      made.ifPresent(Foreground::end); // as a program in a pipeline ends
      throw e;
    }
  }

  /** One try of the request; a signal meanwhile waits until it is known what was made. */
  OutputFrames ask(DaemonClient client, Json body) throws InterruptedException {
    asking(true);
    try {
      return client.run(body, this::word);
    } catch (RuntimeException | InterruptedException e) {
      asking(false);
      throw e;
    }
  }

  private void show(OutputFrames frames) throws InterruptedException {
    try (frames) {
      frames.passNew(position, printer::put, printer::flush);
    } catch (ConnectionLost lost) {
      if (!started) {
        throw lost;
      }
    } finally {
      printer.flush();
    }
  }

  private Foreground container() {
    return made.orElseThrow(
        () -> new ConnectionLost("the daemon did not say what it has made", new IOException()));
  }

  private int code(Json outcome) {
    int code = Foreground.code(session, outcome);
    outcome
        .at("not_removed")
        .string()
        .ifPresent(
            reason -> session.err().println("zlayer: the container was not removed: " + reason));
    return code;
  }

  /** Words of later versions are passed over. */
  private void word(Json word) {
    switch (word.at("type").string().orElse("")) {
      case "created" -> created(Made.of(word));
      case "started" -> started();
      case "ended", "exit" -> exit = Optional.of(word); // the first, when it is killed meanwhile
      default -> {}
    }
  }

  private synchronized void asking(boolean now) {
    asking = now;
    if (!now && cancelled) {
      caller.interrupt();
    }
  }

  private void created(Made container) {
    synchronized (this) {
      made = Optional.of(later.apply(container));
      asking = false;
      if (cancelled) {
        caller.interrupt();
      }
    }
    try {
      Made _ = noting.noted(container);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void started() {
    List<String> waiting;
    synchronized (this) {
      started = true;
      waiting = List.copyOf(early);
    }
    waiting.forEach(container()::signal);
  }

  private void signal(String name) {
    synchronized (this) {
      if (made.isEmpty()) {
        if (asking && !cancelled) {
          cancelled = true; // what is made now is removed as soon as its name is known
        } else {
          caller.interrupt();
        }
        return;
      }
      if (!started) {
        early.add(name);
        return;
      }
    }
    container().signal(name);
  }
}
