package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.print.LiveScreen;
import dev.zlayer.cli.terminal.Terminal;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Something shown again and again until a person has seen enough. */
public final class Watching {
  private static final Duration PERIOD = Duration.ofSeconds(1);
  private static final Terminal.Size NO_WINDOW = new Terminal.Size(10_000, 0);

  private Watching() {}

  /** What there is to see now. */
  @FunctionalInterface
  public interface Frames {
    List<String> next() throws InterruptedException;
  }

  /** Draws over itself on a terminal; elsewhere one frame after the other. Ends with ^C. */
  public static int refresh(Session session, Frames frames) throws InterruptedException {
    var enough = new CountDownLatch(1);
    try (var screen = new LiveScreen(session.out());
        var _ = session.screen().onSignal("INT", enough::countDown)) {
      while (true) {
        draw(session, screen, frames.next());
        if (enough.await(PERIOD.toMillis(), TimeUnit.MILLISECONDS)) {
          afterInterrupt(session);
          return 0;
        }
      }
    }
  }

  /** The terminal has shown {@code ^C}; what comes next begins on a line of its own. */
  public static void afterInterrupt(Session session) {
    if (session.terminal()) {
      session.err().println();
    }
  }

  public static void draw(Session session, LiveScreen screen, List<String> lines) {
    if (session.terminal()) {
      Terminal.Size size = session.screen().size().orElse(NO_WINDOW);
      screen.draw(lines, size.rows(), size.columns());
    } else {
      lines.forEach(session.out()::println);
      session.out().flush();
    }
  }
}
