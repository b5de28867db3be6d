package dev.zlayer.runtime.oci;

import dev.zlayer.container.LogQuery;
import dev.zlayer.port.LogReader;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.log.LogFileReader;

/** Opens the output of a container. */
final class Logs {
  private Logs() {}

  static LogReader open(Workshop shop, Cell cell, LogQuery query) {
    return LogFileReader.open(cell.logs(), query, shop.logWatch(), cell, shop.clock());
  }
}
