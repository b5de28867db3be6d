package dev.zlayer.cli.terminal;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.TerminalControl;
import java.io.IOException;
import java.util.Optional;

/** The terminal of this process. */
public final class RealTerminal implements Terminal {
  private static final int STANDARD_INPUT = 0;
  private static final int STANDARD_OUTPUT = 1;

  @Override
  public Optional<Size> size() {
    for (int descriptor : new int[] {STANDARD_OUTPUT, STANDARD_INPUT}) {
      try {
        TerminalControl.Size size = TerminalControl.of(descriptor).size();
        if (size.columns() > 0) {
          return Optional.of(new Size(size.rows(), size.columns()));
        }
      } catch (IOException _) {
        // no window at this one
      }
    }
    return Optional.empty();
  }

  @Override
  public Undo raw() {
    try {
      TerminalControl.Saved saved = TerminalControl.of(STANDARD_INPUT).raw();
      return saved::close;
    } catch (IOException e) {
      throw new AgentException.InvalidSpec(
          "standard input is not a terminal; omit -t (" + e.getMessage() + ")", e);
    }
  }

  @Override
  public Undo onSignal(String name, Runnable action) {
    return Signals.handle(name, action);
  }

  @Override
  public Undo onOutputClosed(Runnable action) {
    return OutputWatchLoop.start(action);
  }
}
