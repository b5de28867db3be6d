package dev.zlayer.container;

import dev.zlayer.error.AgentException;

/** The size of a terminal in characters. */
public record TerminalSize(int rows, int columns) {
  private static final int MAX = 0xFFFF;

  public TerminalSize {
    if (rows < 0 || rows > MAX || columns < 0 || columns > MAX) {
      throw new AgentException.InvalidSpec(
          "a terminal of %d rows and %d columns is impossible: use 0 to %d"
              .formatted(rows, columns, MAX));
    }
  }
}
