package dev.zlayer.port;

import dev.zlayer.container.ProcessTable;

/** A container that can tell the processes inside it. */
public interface ProcessListing {
  ProcessTable processes();
}
