package dev.zlayer.runtime.oci;

import dev.zlayer.container.LogQuery;
import dev.zlayer.port.LogReader;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.log.LogFileReader;

/** Opens the output of a container. */
final class Logs {
  private Logs() {}

  static LogReader open(OciContext context, ContainerState state, LogQuery query) {
    return LogFileReader.open(state.logs(), query, context.logWatch(), state, context.clock());
  }
}
