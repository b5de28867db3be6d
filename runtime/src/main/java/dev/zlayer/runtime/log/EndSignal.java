package dev.zlayer.runtime.log;

import dev.zlayer.host.file.DirectoryWatchLoop;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;

/** Tells a reader that no more output will come. */
public interface EndSignal {
  /** Whether the container has ended and all of its output is in the files. */
  boolean ended();

  /** Calls {@code wake} when {@link #ended} may have become true, until closed. */
  DirectoryWatchLoop.Registration onEnd(Runnable wake);

  /** For a container that does not run. */
  EndSignal ENDED =
      new EndSignal() {
        @Override
        public boolean ended() {
          return true;
        }

        @Override
        public DirectoryWatchLoop.Registration onEnd(Runnable wake) {
          return () -> {};
        }
      };

  /** Ended when a file exists, such as the exit file: conmon writes it after the last output. */
  static EndSignal when(Path file, DirectoryWatchLoop watch) {
    return new EndSignal() {
      @Override
      public boolean ended() {
        return Files.exists(file);
      }

      @Override
      public DirectoryWatchLoop.Registration onEnd(Runnable wake) {
        try {
          return watch.watch(
              Objects.requireNonNull(file.toAbsolutePath().getParent(), "the root is no file"),
              wake);
        } catch (IOException e) {
          throw new UncheckedIOException("cannot watch the directory of " + file, e);
        }
      }
    };
  }
}
