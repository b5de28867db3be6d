package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.LiveScreen;
import dev.zlayer.cli.terminal.Terminal;
import dev.zlayer.task.Deadline;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;

/** Shows a person at a terminal how much was copied and how fast, if it takes its time. */
final class TransferProgress implements AutoCloseable {
  private static final Duration QUIET = Duration.ofSeconds(1);
  private static final Duration FRAME = Duration.ofMillis(200);
  private static final Duration LONG = Duration.ofDays(365);

  private final Session session;
  private final boolean shown;
  private final LiveScreen screen;
  private final Deadline clock = Deadline.after(LONG);
  private Deadline next = Deadline.after(QUIET);
  private long bytes;

  TransferProgress(Session session, boolean quiet) {
    this.session = session;
    this.shown = session.errorTerminal() && !quiet;
    this.screen = new LiveScreen(session.err());
  }

  /** The same bytes, counted as they are read. */
  InputStream counted(InputStream in) {
    return new FilterInputStream(in) {
      @Override
      public int read() throws IOException {
        int one = super.read();
        add(one < 0 ? 0 : 1);
        return one;
      }

      @Override
      public int read(byte[] buffer, int offset, int length) throws IOException {
        int count = super.read(buffer, offset, length);
        add(Math.max(0, count));
        return count;
      }
    };
  }

  private void add(int count) {
    bytes += count;
    if (shown && next.passed()) {
      next = Deadline.after(FRAME);
      long millis = Math.max(1, LONG.minus(clock.left()).toMillis());
      int columns = session.screen().size().map(Terminal.Size::columns).orElse(80);
      screen.draw(
          List.of(
              "%s copied, %s/s"
                  .formatted(HumanUnits.bytes(bytes), HumanUnits.bytes(bytes * 1000 / millis))),
          2,
          columns);
    }
  }

  /** Removes what was drawn. */
  @Override
  public void close() {
    if (shown) {
      screen.clear();
    }
  }
}
