package dev.zlayer.cli.terminal;

import java.util.Optional;

/** What a verb may ask of the terminal that it was typed at; without one nothing happens. */
public interface Terminal {
  /** Rows and columns of the window. */
  record Size(int rows, int columns) {}

  /** Undoes what was asked for. */
  interface Undo extends AutoCloseable {
    @Override
    void close();
  }

  /** The window's size; nothing when there is no window. */
  Optional<Size> size();

  /** Passes every key on as it is typed, until closed. */
  Undo raw();

  /** Calls {@code action} on that signal (INT, WINCH ...) instead of what usually happens. */
  Undo onSignal(String name, Runnable action);

  /** Calls {@code action} once nobody reads standard output any more, until closed. */
  Undo onOutputClosed(Runnable action);

  /** No terminal, no signals: for tests and for runs that nobody watches. */
  Terminal NONE =
      new Terminal() {
        @Override
        public Optional<Size> size() {
          return Optional.empty();
        }

        @Override
        public Undo raw() {
          return () -> {};
        }

        @Override
        public Undo onSignal(String name, Runnable action) {
          return () -> {};
        }

        @Override
        public Undo onOutputClosed(Runnable action) {
          return () -> {};
        }
      };
}
