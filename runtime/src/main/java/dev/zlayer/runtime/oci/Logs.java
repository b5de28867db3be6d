package dev.zlayer.runtime.oci;

import dev.zlayer.container.LogQuery;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.port.LogReader;
import dev.zlayer.runtime.log.EndSignal;
import dev.zlayer.runtime.log.LogFileReader;

/** Opens the output of a container. */
final class Logs {
  private Logs() {}

  static LogReader open(Workshop shop, Cell cell, LogQuery query) {
    return LogFileReader.open(cell.logs(), query, shop.logWatch(), new EndOf(cell), shop.clock());
  }

  /** The monitor has written all before its end, and only then the end is noted. */
  private record EndOf(Cell cell) implements EndSignal {
    @Override
    public boolean ended() {
      Cell.View view = cell.view().now();
      return view.removed()
          || switch (view.record().phase()) {
            case ENDED, REMOVING -> true;
            case CREATING, CREATED, STARTING, RUNNING, PAUSED -> false;
          };
    }

    @Override
    public DirectoryWatchLoop.Registration onEnd(Runnable wake) {
      return cell.view().onChange(wake)::close;
    }
  }
}
